"""Looks at what a model predicts and what it may read: later tokens, hidden ones, the answer.

Shape letters: B rows, T tokens.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.measures.data_sets import column
from course_utils.diagnostics.diagnosis.measures.forward import evaluated, has_ids, outputs_of
from course_utils.diagnostics.diagnosis.measures.one_loss import learnt_places
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import IGNORED, OF_TEXT, Loss, head_of, speaks_for
from course_utils.diagnostics.nonfinite.batches import keep
from course_utils.diagnostics.one_step import open_model

SEEN = 0.05  # of the logits' spread: what rounding in bfloat16 stays far below
SAME = 0.95  # of the tokens
MOST_HIDDEN = 0.8  # of the tokens
HIDDEN = 0.5  # of the labels: a collator for hidden tokens puts 80% of them under a mask
FEWEST = 4  # tokens


@speaks_for(*OF_TEXT)
def look_at_future(subject: Subject, sheet: Sheet) -> None:
    """Another last token must leave all earlier logits as they are."""
    try:
        moved = _moved_by_the_last(subject)
    except (TypeError, KeyError, IndexError, AttributeError, ValueError):
        if head_of(subject.model) is not None:
            raise
        sheet.miss("later tokens", "of ids alone this model gives no logits")
        return
    if moved is None:
        return
    said = f"with another last token the logits before it move by {moved:.2g} of their spread"
    if moved > SEEN and _share_hidden(subject) > HIDDEN:
        sheet.show("later tokens", f"{said}; what is learnt is hidden by a mask token")
    elif moved > SEEN:
        sheet.find("sees_future", MEASURED + 1, said, place="attention mask, is_decoder")
    else:
        sheet.clear("later tokens", said)


def _moved_by_the_last(subject: Subject) -> float | None:
    """How far another last token moves the logits before it, by their spread; None if not known."""
    if not has_ids(subject.rows) or subject.rows["input_ids"].shape[1] < FEWEST:
        return None
    ids = subject.rows["input_ids"][:1]
    mask = subject.rows.get("attention_mask")
    if isinstance(mask, Tensor) and mask.shape == subject.rows["input_ids"].shape:
        ids = ids[:, mask[0].bool()]
    if ids.shape[1] < FEWEST:
        return None
    other = ids.clone()
    other[0, -1] = ids[0, 0] if ids[0, 0] != ids[0, -1] else ids[0, 1]
    if torch.equal(ids, other):
        return None
    with evaluated(subject.model):
        was, now = (outputs_of(subject.model, {"input_ids": one}) for one in (ids, other))
    if was.dim() != 3 or not bool(was.isfinite().all()):
        return None
    return float((was - now)[:, :-1].abs().max()) / (float(was.std()) or 1.0)


def _reads_both_sides(subject: Subject) -> bool:
    """Whether the model is seen to read later tokens, as one for hidden tokens does."""
    with suppress(Exception):  # look_at_future says why there is no pass
        return (_moved_by_the_last(subject) or 0.0) > SEEN
    return False


def _share_hidden(subject: Subject) -> float:
    """The share of the labels that stand under a mask token; 0 where there are none."""
    batch, hidden = subject.batch or {}, getattr(subject.tokenizer, "mask_token_id", None)
    ids, labels = batch.get("input_ids"), batch.get("labels")
    if hidden is None or not isinstance(ids, Tensor) or not isinstance(labels, Tensor):
        return 0.0
    learnt = labels != IGNORED
    if labels.shape != ids.shape or not bool(learnt.any()):
        return 0.0
    return float((ids[learnt] == hidden).float().mean())


@speaks_for(Loss.NEXT_TOKEN, Loss.HIDDEN_TOKENS)
def look_at_hidden(subject: Subject, sheet: Sheet) -> None:
    """A mask token under a label: for a model of the next token, or for nearly all tokens."""
    labels = (subject.batch or {}).get("labels")
    hidden = getattr(subject.tokenizer, "mask_token_id", None)
    if not has_ids(subject.batch) or not isinstance(labels, Tensor):
        return
    ids = subject.batch["input_ids"]
    if labels.shape != ids.shape or not bool((learnt := labels != IGNORED).any()):
        return
    under = _share_hidden(subject)
    share = float(learnt.float().sum()) / max(1, _num_read(subject.batch))
    said = f"{share:.0%} of the tokens have a label, and of those {under:.0%} stand under a mask"
    if hidden is not None and bool((labels[learnt] == hidden).float().mean() > SAME):
        said = f"{float((labels[learnt] == hidden).float().mean()):.0%} of the labels are the mask "
        said += "token itself"
        sheet.find("mask_is_the_target", COUNTED + 1, said, place="labels, and where they are made")
    elif subject.loss is Loss.NEXT_TOKEN and under > 1 - SAME and not _reads_both_sides(subject):
        sheet.find("masked_for_causal", COUNTED + 1, said, place="data_collator, mlm")
    elif subject.loss is Loss.HIDDEN_TOKENS and share > MOST_HIDDEN and under > HIDDEN:
        sheet.find("masked_too_much", LIKELY, said, place="mlm_probability")
    elif subject.loss is Loss.HIDDEN_TOKENS:
        sheet.show("hidden tokens", said)


def _num_read(batch: Mapping) -> int:
    mask = batch.get("attention_mask")
    return int(mask.sum()) if isinstance(mask, Tensor) else batch["input_ids"].numel()


@speaks_for(Loss.SEQ2SEQ)
def look_at_decoder(subject: Subject, sheet: Sheet) -> None:
    """Labels of an encoder-decoder: no padding, not what the decoder reads, not the source."""
    batch = subject.batch or {}
    labels = batch.get("labels")
    if not isinstance(labels, Tensor) or labels.dim() != 2:
        return
    _padding(subject, labels, sheet)
    given = batch.get("decoder_input_ids")
    given = _read_by_decoder(subject) if given is None else given
    if isinstance(given, Tensor) and given.shape == labels.shape:
        learnt = labels != IGNORED
        same = float((given == labels)[learnt].float().mean()) if bool(learnt.any()) else 0.0
        said = f"{same:.0%} of the labels are the token that the decoder reads at the same place"
        if same > SAME and labels.shape[1] > 2:
            sheet.find("decoder_reads_labels", COUNTED, said, place="decoder_input_ids")
        else:
            sheet.clear("what the decoder reads", said)
    with sheet.trying("labels beside their source"):
        _source(subject, sheet)
    with sheet.trying("the ends of the labels"):
        _ends(subject, sheet)
    with sheet.trying("the length of generated texts"):
        _limit(subject, sheet)


def _read_by_decoder(subject: Subject) -> Tensor | None:
    """What a loss of the Trainer's own gives the decoder to read, where it does."""
    if subject.trainer is None or not subject.has_own_loss:
        return None
    read: list[Tensor] = []

    def heard(_module: nn.Module, _args: tuple, kwargs: Mapping) -> None:
        read.extend(v for k, v in kwargs.items() if k == "decoder_input_ids" and v is not None)

    handle = subject.model.register_forward_pre_hook(heard, with_kwargs=True)
    try:
        with put_back(subject), torch.no_grad(), suppress(Exception):  # it may ask for more
            open_model(subject.trainer, None).loss_of(keep(subject.batch))
    finally:
        handle.remove()
    return read[0].cpu() if read else None


def _padding(subject: Subject, labels: Tensor, sheet: Sheet) -> None:
    pad = getattr(subject.tokenizer, "pad_token_id", None)
    if pad is None or pad == getattr(subject.tokenizer, "eos_token_id", None):
        return
    count, whole = int((labels == pad).sum()), int((labels != IGNORED).sum())
    if count and bool((labels[:, -1] == pad).any()) and not _leaves_out(labels == pad, subject):
        said = f"{count} of {whole} labels are padding (id {pad})"
        sheet.find("padding_learnt", COUNTED, said, place="labels")


def _leaves_out(places: Tensor, subject: Subject) -> bool:
    """Whether a loss of one's own learns nothing of these labels (B, T)."""
    learnt = learnt_places(subject) if subject.has_own_loss else None
    return learnt is not None and learnt.shape == places.shape and not bool(learnt[places].any())


def _source(subject: Subject, sheet: Sheet) -> None:
    data = getattr(subject.trainer, "train_dataset", None)
    sources, targets = column(data, "input_ids"), column(data, "labels")
    if not sources or len(sources) != len(targets):
        return
    same = sum(a == b for a, b in zip(sources, targets, strict=True)) / len(sources)
    if same > SAME:
        sheet.doubt(f"the labels are the input itself in {same:.0%} of the rows")
    else:
        sheet.clear("labels beside their source", f"the same in {same:.0%} of the rows")


def _ends(subject: Subject, sheet: Sheet) -> None:
    """Targets without the end that the tokenizer writes: they were cut, or made in another way."""
    targets = column(getattr(subject.trainer, "train_dataset", None), "labels")
    end = getattr(subject.tokenizer, "eos_token_id", None)
    if end is None or len(targets) < FEWEST or end not in subject.tokenizer("a")["input_ids"]:
        return
    without = sum(end not in row for row in targets if isinstance(row, list))
    said = f"{without} of {len(targets)} targets do not hold {subject.tokenizer.eos_token}"
    if without > SAME * len(targets):
        sheet.find("end_missing", COUNTED, said, place="labels, max_length of the targets")
    else:
        sheet.clear("ends of the labels", said)


def _limit(subject: Subject, sheet: Sheet) -> None:
    """The longest text that an evaluation generates, beside the labels of its rows."""
    metric = getattr(subject.trainer, "compute_metrics", None)
    if metric is None or not getattr(subject.args, "predict_with_generate", False):
        return
    rows = column(getattr(subject.trainer, "eval_dataset", None), "labels")
    filled = {IGNORED, getattr(subject.tokenizer, "pad_token_id", None)}
    lengths = [sum(one not in filled for one in row) for row in rows]
    limit, name = _room(subject)
    if not lengths or not limit:
        return
    longer = sum(length > limit for length in lengths) / len(lengths)
    said = (
        f"{longer:.0%} of the labels of the evaluation have more than {limit} tokens, which "
        f"{name} allows; the longest has {max(lengths)}"
    )
    if longer > 0.5:
        sheet.find("evaluation_cuts_replies", COUNTED, said, place=name)
    else:
        sheet.clear("room for generated texts", said)


def _room(subject: Subject) -> tuple[int, str]:
    """How many tokens generate may write, and the setting that says so."""
    own: Any = getattr(subject.args, "generation_config", None)
    own = own if hasattr(own, "max_length") else getattr(subject.model, "generation_config", None)
    new = getattr(own, "max_new_tokens", None)
    if asked := getattr(subject.args, "generation_max_length", None):
        return int(asked), "generation_max_length"
    if new:
        return int(new), "max_new_tokens"
    return int(getattr(own, "max_length", None) or 20), "max_length of generation_config"
