"""Causes that lie in the batch: labels, masks, groups of one, rows that are fully masked.

Rules as in `causes`. Shape letters: B = rows of the batch, T = token position.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from course_utils.diagnostics.nonfinite.batches import tensors_in
from course_utils.diagnostics.nonfinite.case import Case, Cause
from course_utils.diagnostics.nonfinite.events import ROW_WISE

IGNORED = -100  # torch.nn.functional.cross_entropy, ignore_index


def bad_input(case: Case) -> Cause | None:
    event = case.origin
    if event.phase != "already in the input":
        return None
    where = f", row {event.rows[0]} of the batch" if event.rows else ""
    broken = [f"{name} ({held})" for name, held in case.broken_on_entry.items()]
    if broken:
        return Cause(
            "broken weight",
            f"`{event.module}` came from a model whose weights were not finite before the first "
            f"step: {broken[0]}",
            "load that model afresh and look at the tensor in its checkpoint file",
        )
    return Cause(
        "bad input",
        f"the batch itself holds it, in `{event.module or 'the input'}`{where}",
        "look at this row of report.batch and drop or repair it where the data are made",
    )


def labels_ignored(case: Case) -> Cause | None:
    is_mean = case.origin.operation.startswith(("nll_loss", "div", "mean", "cross_entropy"))
    labels = _labels(case.batch)
    if not is_mean or case.origin.phase != "forward" or "0 / 0" not in case.origin.sentence:
        return None
    if labels is None:
        if not case.origin.operation.startswith("nll_loss"):
            return None
        why = "every target of the cross-entropy is ignore_index: it is a mean over no token"
        return Cause("labels all ignored", why, "leave such a batch out, or use reduction='sum'")
    shifted = labels[:, 1:] if labels.dim() > 1 else labels
    if bool((shifted != IGNORED).any()):
        return _some_rows_ignored(case, shifted)
    made, fix = _who_ignored(case.batch, labels, case.max_length)
    why = f"all {len(labels)} rows have only labels of -100, so the loss is a mean over no token"
    return Cause("labels all ignored", f"{why}: {made}", fix)


def _some_rows_ignored(case: Case, shifted: Tensor) -> Cause | None:
    """A loss that takes the mean of each row, or of a few, and meets one without a label."""
    empty = (shifted == IGNORED).flatten(1).all(1).nonzero().flatten() if shifted.dim() > 1 else ()
    if not len(empty) or "no label" not in case.origin.sentence:
        return None
    rows = ", ".join(map(str, empty.tolist()[:4]))
    return Cause(
        "labels all ignored",
        f"row {rows} of the batch has only labels of -100, and a mean is taken over its tokens",
        "leave rows without a label out, or divide one sum by the number of all labels",
    )


def _labels(batch: Any) -> Tensor | None:
    named = {name.rpartition(".")[2]: tensor for name, tensor in tensors_in(batch)}
    labels = named.get("shift_labels", named.get("labels"))
    return (
        labels if labels is not None and labels.dim() and not labels.is_floating_point() else None
    )


def _who_ignored(batch: Any, labels: Tensor, max_length: int | None) -> tuple[str, str]:
    """Why every label is -100, and what to do, judged by the rest of the batch."""
    batch = batch if isinstance(batch, Mapping) else {}
    ids, attention = batch.get("input_ids"), batch.get("attention_mask")
    width = labels.shape[-1]
    if attention is not None and not bool(attention.any()):
        return "attention_mask is 0 everywhere, the rows are empty", "drop empty rows"
    if width == 1:
        return "a row of one token has no next token", "drop rows shorter than two tokens"
    if ids is not None and ids.numel() and bool((ids == ids.flatten()[0]).all()):
        return (
            f"every token is id {int(ids.flatten()[0])}, and the collator ignores the pad token",
            "give the tokenizer a pad token that is not in the text, and look at the rows' text",
        )
    if width == max_length:
        return (
            f"the rows are cut to max_length={max_length} tokens, before the answer begins",
            "raise max_length, shorten the prompts, or drop rows whose answer was cut off",
        )
    return (
        "input_ids hold text, so the masking of the prompt took all of it (no answer after the "
        "prompt, or a response or chat template that does not match)",
        "print tokenizer.decode(ids[labels != -100]) for a row of the data set, and fix the "
        "template or the completion until it shows the answer",
    )


def hidden_row(case: Case) -> Cause | None:
    event = case.became_nan if case.became_nan is not None else case.origin
    if event is not case.origin or event.operation not in ROW_WISE:
        return None
    if "every value is -inf" not in event.sentence:
        return None
    row = f"row {list(event.at[:-1])}" if len(event.at) > 1 else "the only row"
    return Cause(
        "fully masked row",
        f"{row} of the scores{case.place} is -inf everywhere: its mask leaves nothing to "
        "choose from, and softmax of that is 0 / 0",
        "let each row see at least one position (padding rows their own), or mask with "
        "torch.finfo(dtype).min instead of -inf",
    )


def one_sample(case: Case) -> Cause | None:
    if "of one value: 0 / 0" not in case.origin.sentence:
        return None
    return Cause(
        "std of one sample",
        f"the unbiased {case.origin.operation} divides by n - 1, and there is one value in the "
        f"group{case.place}",
        "use groups of at least two (num_generations, batch size), or std(unbiased=False)",
    )


def no_values(case: Case) -> Cause | None:
    event = case.origin
    is_empty = "of no values: 0 / 0" in event.sentence
    is_ratio = event.operation == "div" and event.phase == "forward" and "0 / 0" in event.sentence
    masks = _empty_masks(case.batch)
    if not is_empty and not (is_ratio and masks):
        return None
    which = f": {masks[0]}" if masks else ""
    return Cause(
        "mean over nothing",
        f"a mean was taken over no value{case.place}{which}",
        "drop rows without a token, or divide by mask.sum().clamp_min(1)",
    )


def _empty_masks(batch: Any) -> list[str]:
    """The masks of the batch that hide a whole row, with its number."""
    found = []
    for name, mask in tensors_in(batch):
        if "mask" in name and mask.dim() > 1:
            empty = (mask == 0).flatten(1).all(1).nonzero().flatten().tolist()
            found += [f"{name} is 0 in all of row {empty[0]}"] if empty else []
    return found


def forbidden_label(case: Case) -> Cause | None:
    event = case.origin
    is_mask = event.is_written and event.out.num_neg_inf and event.is_operation
    logs = [source.event for source in event.sources if source.event.operation.startswith("log")]
    is_entropy = event.operation == "mul" and "-inf" in event.sentence and bool(logs)
    if not (is_mask or is_entropy) or event.phase != "forward":
        return None
    if is_entropy:
        return Cause(
            "0 * log(0)",
            f"a forbidden choice has probability 0 and log-probability -inf, and 0 * -inf = nan"
            f"{case.place}",
            "use torch.xlogy or torch.special.entr, or fill the log-probability with 0 there",
        )
    return Cause(
        "label is masked out",
        f"the loss asks for a choice that -inf had ruled out{case.place}",
        "do not mask the label itself, or leave those positions out of the loss",
    )
