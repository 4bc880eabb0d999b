"""Judges what torch's loss functions were given: shapes, logs, weights, and the tokens beside them.

Shape letters: N rows of logits, B rows, T tokens, V vocabulary.
"""

import math
from collections import Counter
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.batch_scores import (
    copies_in,
    judge_batch_scores,
    judge_copies,
    once,
)
from course_utils.diagnostics.diagnosis.measures.data_sets import labels_of
from course_utils.diagnostics.diagnosis.measures.heard_losses import Heard, HeardLosses
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import IGNORED, OF_TOKENS, Loss

FEWEST = 4  # targets
FAR = 0.1  # of the spread of the logits
SURE = 0.9  # of the targets
SOME, FIRST = 64, 16  # rows of logits that are placed, and of each the numbers that are compared
SMOOTHED = 0.5  # of a label: beyond it the other classes have more
AMOUNTS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
BIG = 100.0  # times the predictions, and 1
RARER, HEAVIER = 2.0, 1.5  # times: how much rarer a class is, and how much more the frequent weighs
BEFORE_WORDS = ("\u2581", "\u0120")  # marks of a token with a space before it
SPREAD = "predictions and targets have other shapes, and are spread out against each other"
PLACES = {
    0: "the token at the same place: each token is learnt from itself",
    2: "the token two places on: the labels were moved twice",
    -1: "the token before: the labels were moved the wrong way",
}


def judge_losses(heard: HeardLosses, subject: Subject, sheet: Sheet) -> None:
    if heard.axis and subject.loss in OF_TOKENS | {Loss.SEQ2SEQ}:  # else it may pool over time
        once(sheet, "softmax_axis", COUNTED, heard.axis, place="the loss, its softmax")
    if heard.spread:
        said = f"the loss takes the difference of {heard.spread}: each number meets every other"
        once(sheet, "labels_shape", COUNTED, said, place="the loss, its difference", why=SPREAD)
    for call in heard.calls:
        with sheet.trying(f"what {call.name} is given"):
            _judge(call, subject, sheet)
    if subject.trainer is None:  # of a Trainer the batches of its run tell, and not the first rows
        pairs = (one for one in heard.calls if one.name == "cross_entropy")
        judge_copies([copies_in(one.given, one.target) for one in pairs], sheet)


def _judge(call: Heard, subject: Subject, sheet: Sheet) -> None:
    is_class = call.name in ("cross_entropy", "nll_loss")
    if not is_class:
        _shapes(call, sheet)
        if call.name == "kl_div" and not call.is_log and bool((call.target < 0).any()):
            said = "kl_div is called without log_target, and its target has numbers below 0"
            why = "kl_div takes probabilities as its target, and gets logs"
            more = {"why": why, "advice": "softmax for the target, or log_target=True"}
            once(sheet, "probabilities_as_logs", COUNTED, said, place="F.kl_div", **more)
        return
    if call.target.is_floating_point() or call.target.numel() < FEWEST:
        return
    if call.name == "nll_loss":
        _are_logs(call, sheet)
    if call.weight is not None:
        rows = labels_of(getattr(subject.trainer, "train_dataset", None))
        known = rows if subject.loss is Loss.ROWS and all(type(one) is int for one in rows) else []
        _weights(call.target, call.weight, known, sheet)
    judge_batch_scores(call, subject, sheet)
    _left_out(call, subject, sheet)
    if subject.loss in (Loss.NEXT_TOKEN, Loss.OTHER) and call.logits is not None:
        _places(call, sheet)


def _shapes(call: Heard, sheet: Sheet) -> None:
    """Torch warns and lets each prediction meet every target."""
    shapes = tuple(call.given.shape), tuple(call.target.shape)
    if shapes[0] == shapes[1] and call.name in AMOUNTS:
        _amounts(call, sheet)
    if call.name == "kl_div" or shapes[0] == shapes[1] or call.target.numel() == 1:
        return
    if call.given.numel() == call.target.numel() and call.given.numel() > 1:
        said = f"{call.name} gets {shapes[0]} and {shapes[1]}: each number meets every target"
        once(sheet, "labels_shape", COUNTED, said, place=f"the loss, F.{call.name}", why=SPREAD)


def _amounts(call: Heard, sheet: Sheet) -> None:
    """Targets that are far larger than what is predicted, and than 1."""
    sizes = [float(one.float().square().mean().sqrt()) for one in (call.target, call.given)]
    if call.target.numel() < FEWEST or sizes[0] < BIG * max(1.0, sizes[1]):
        return
    said = f"the targets of {call.name} are about {sizes[0]:.3g}, the predictions {sizes[1]:.2g}"
    once(sheet, "targets_unscaled", LIKELY, said, place="the targets of the loss")


def _are_logs(call: Heard, sheet: Sheet) -> None:
    """The exponentials of log-probabilities have the sum 1."""
    if call.given.dim() != 2:
        return
    sums = call.given[:SOME].float().exp().sum(-1)
    if bool(((sums - 1).abs() > FAR).all()):
        once(
            sheet,
            "probabilities_as_logs",
            COUNTED,
            f"the exponentials of nll_loss's first argument sum to {float(sums.median()):.3g}",
            place="the loss, F.nll_loss",
            why="nll_loss takes log-probabilities as its first argument, and gets other numbers",
            advice="cross_entropy in place of nll_loss, or log_softmax before it",
        )


def _weights(targets: Tensor, weight: Tensor, rows: list[int], sheet: Sheet) -> None:
    """Class weights beside the labels of all `rows`, or of the batch where these are not known."""
    lost = [int(c) for c in targets.unique() if 0 <= c < len(weight) and float(weight[c]) == 0]
    if lost:
        count = sum(int((targets == c).sum()) for c in lost)
        said = f"class {lost[0]} has weight 0, and {count} of {targets.numel()} labels are of it"
        once(sheet, "class_without_weight", COUNTED, said, place="weight of F.cross_entropy")
    counts = Counter(t for t in rows or targets.flatten().tolist() if 0 <= t < len(weight))
    if len(counts) < 2 or sum(counts.values()) < RARER * FEWEST:
        return
    (most, many), (least, few) = counts.most_common()[0], counts.most_common()[-1]
    heavy, light = float(weight[most]), float(weight[least])
    if many >= RARER * few and heavy > HEAVIER * light > 0:
        said = f"class {most} has weight {heavy:.2g} and {many} of {sum(counts.values())} labels; "
        said += f"class {least} has weight {light:.2g} and {few}"
        once(sheet, "class_weights_inverted", LIKELY, said, place="weight of F.cross_entropy")


def _left_out(call: Heard, subject: Subject, sheet: Sheet) -> None:
    """A class whose number is that of ignore_index, and labels that are smoothed away."""
    left = call.target == call.ignored
    if subject.loss is Loss.TAGS:
        left = left & _attended(call) & _begins_word(call, subject.tokenizer)
    count, is_class = int(left.sum()), 0 <= call.ignored < call.given.shape[-1]
    if count and is_class and subject.loss in (Loss.ROWS, Loss.TAGS):
        said = f"ignore_index is {call.ignored}, and {count} of {call.target.numel()} labels are it"
        once(sheet, "class_without_weight", COUNTED, said, place="ignore_index of F.cross_entropy")
    if call.smoothing > SMOOTHED:
        said = f"label_smoothing is {call.smoothing:g}"
        once(sheet, "smoothing_too_strong", LIKELY, said, place="F.cross_entropy")


def _attended(call: Heard) -> Tensor:
    """Which targets stand at tokens that the mask shows; none where it has another form."""
    mask, targets = call.batch.get("attention_mask"), call.target
    if not isinstance(mask, Tensor) or mask.numel() != targets.numel():
        return torch.zeros_like(targets).bool()
    return mask.to(targets.device).bool().reshape(targets.shape)


def _begins_word(call: Heard, tokenizer: Any) -> Tensor:
    """Which targets stand at the first token of a word, as far as a tokenizer tells.

    Special tokens, and pieces behind the first one of a word, may be left out on purpose.
    """
    ids, targets = call.batch.get("input_ids"), call.target
    if tokenizer is None or not isinstance(ids, Tensor) or ids.numel() != targets.numel():
        return torch.ones_like(targets).bool()
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    tokens = tokenizer.convert_ids_to_tokens(ids.flatten().tolist())
    is_first = torch.tensor(first_pieces(list(map(str, tokens))))
    is_word = torch.tensor([one not in special for one in ids.flatten().tolist()])
    return (is_first & is_word).to(targets.device).reshape(targets.shape)


def first_pieces(tokens: list[str]) -> list[bool]:
    """Which tokens begin a word, by the marks of WordPiece, SentencePiece or a BPE of bytes.

    >>> first_pieces(["un", "##seen", "day"]), first_pieces(["\u2581un", "seen", "\u2581day"])
    ([True, False, True], [True, False, True])
    """
    is_marked = any(one.startswith(BEFORE_WORDS) for one in tokens)
    return [one.startswith(BEFORE_WORDS if is_marked else "##") == is_marked for one in tokens]


def _places(call: Heard, sheet: Sheet) -> None:
    """Each row of logits is placed in the model's own; its target is then the next token or not."""
    ids, logits = call.batch.get("input_ids"), call.logits
    if not isinstance(ids, Tensor) or ids.dim() != 2 or logits.dim() != 3:
        return
    if call.given.dim() != 2 or call.given.shape[-1] != logits.shape[-1]:
        return
    flat, targets = logits.flatten(0, 1), call.target.flatten()
    width, offsets, counted = ids.shape[1], Counter(), 0
    if _mixed(call, flat, sheet):
        return
    for n in (targets != IGNORED).nonzero().flatten()[:SOME].tolist():
        same = (flat[:, :FIRST] == call.given[n, :FIRST].to(flat.dtype)).all(-1).nonzero().flatten()
        if len(same) != 1:
            continue
        b, t = divmod(int(same[0]), width)
        counted += 1
        near = {o: t + o for o in (*PLACES, 1) if 0 <= t + o < width}
        offsets.update(o for o, at in near.items() if int(ids[b, at]) == int(targets[n]))
    if counted >= FEWEST and offsets and offsets[1] < SURE * counted:
        place, count = offsets.most_common(1)[0]
        if place in PLACES and count >= SURE * counted:
            said = f"{count} of {counted} targets are {PLACES[place].partition(':')[0]}"
            why = PLACES[place].partition(": ")[2]
            once(sheet, "loss_not_shifted", COUNTED, said, place="the loss", why=why)
    if offsets[1] >= SURE * max(FEWEST, counted):
        _padding(call, ids, sheet)


def _padding(call: Heard, ids: Tensor, sheet: Sheet) -> None:
    """Targets that are tokens which the mask hides, where each is the next token."""
    mask, targets = call.batch.get("attention_mask"), call.target.flatten()
    if not isinstance(mask, Tensor) or mask.shape != ids.shape:
        return
    hidden = mask[:, 1:] == 0
    if mask.numel() == len(targets):
        hidden = torch.cat([hidden, torch.zeros_like(hidden[:, :1])], 1)
    if hidden.numel() != len(targets):
        return
    count = int((hidden.flatten() & (targets != IGNORED)).sum())
    if count:
        said = f"{count} of {int((targets != IGNORED).sum())} targets stand under padding"
        once(sheet, "padding_learnt", COUNTED, said, place="the loss, its targets")


def _mixed(call: Heard, flat: Tensor, sheet: Sheet) -> bool:
    """Whether the loss takes the numbers of the logits, and none of its rows is a token's logits.

    Rows of other numbers are those of another head.
    """
    few, spread = call.given[:FEWEST].float(), float(flat.float().std())
    near = min(float((flat.float() - row).abs().amax(-1).min()) for row in few)
    if near <= FAR * spread or not _are_numbers_of(call.given, call.logits):
        return False
    once(
        sheet,
        "loss_against_labels",
        MEASURED,
        "none of the first rows that the loss takes are the logits of a token",
        place="the loss, its logits",
        why="the logits of different tokens and words are mixed before the loss: its axes are "
        "flattened in another order than they stand",
    )
    return True


def _are_numbers_of(given: Tensor, logits_BTV: Tensor) -> bool:
    """Whether these are the numbers of the logits, of all places or all but one, in any order."""
    parts = (given, logits_BTV, logits_BTV[:, :-1], logits_BTV[:, 1:])
    own, *others = (float(one.float().square().sum(dtype=torch.float64)) for one in parts)
    return any(math.isclose(own, one) for one in others)
