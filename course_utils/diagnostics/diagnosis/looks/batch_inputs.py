"""Looks at the numbers of one batch: rows that are the same, bytes that were not scaled, ids."""

from collections.abc import Mapping
from contextlib import suppress

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.measures.forward import has_ids
from course_utils.diagnostics.diagnosis.measures.labels_used import are_next_ids, moves_labels
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import IGNORED, Loss, may_speak, speaks_for
from course_utils.diagnostics.one_step import open_model, training_step

NUMBERS = ("pixel_values", "input_values", "input_features")
MOST, A_BYTE = 64.0, 255.5  # above which no number stands that was scaled; and the largest byte
FAINT = {"pixel_values": 0.02, "input_values": 1e-4}  # deviation: a processor leaves about 1
NEAR = 0.01  # relative: what another format leaves of a number
FEWEST = 4  # rows


def look_at_batch_inputs(subject: Subject, sheet: Sheet) -> None:
    batch = subject.batch
    if not isinstance(batch, Mapping):
        return
    for name in (one for one in NUMBERS if isinstance(batch.get(one), Tensor)):
        value = batch[name]
        if value.dim() < 2 or len(value) < FEWEST or not value.is_floating_point():
            continue
        if _are_alike(value):
            _alike(name, value, sheet)
        else:
            _scale(name, value, subject, sheet)
    if has_ids(batch):
        _mask(batch, subject, sheet)
        _positions(batch, sheet)
        if subject.tokenizer is None and may_speak(_moved_labels, subject.loss):
            _moved_labels(subject, sheet)


def _are_alike(value: Tensor) -> bool:
    return bool((value == value[:1]).all())


def _alike(name: str, value: Tensor, sheet: Sheet) -> None:
    is_flat = bool((value == value.flatten()[0]).all())
    what = f"each number is {float(value.flatten()[0]):.3g}" if is_flat else "all are the same"
    sheet.find(
        "rows_alike",
        COUNTED,
        f"{name} of {len(value)} rows: {what}",
        place=name,
        why=f"{name} is the same in all rows of the batch",
    )


def _scale(name: str, value: Tensor, subject: Subject, sheet: Sheet) -> None:
    least, most = float(value.min()), float(value.max())
    said = f"{name} goes from {least:.3g} to {most:.3g}, mean {float(value.float().mean()):.3g}"
    is_raw = name == "pixel_values" and least >= 0 and MOST < most <= A_BYTE
    is_faint = not is_raw and (spread := float(value.float().std())) < FAINT.get(name, 0.0)
    if not (is_raw or is_faint) or _is_scaled_inside(value, subject):
        sheet.show(f"numbers of {name}", said)
    elif is_raw:
        sheet.find("inputs_unscaled", LIKELY, said, place=name)
    else:
        why = f"the numbers of {name} hardly differ: they were scaled twice, or by far too much"
        said = f"{said}, deviation {spread:.2g}"
        sheet.find("inputs_unscaled", LIKELY, said, place=name, why=why)


def _is_scaled_inside(value: Tensor, subject: Subject) -> bool:
    """Whether the model scales its input: none of its layers with a matrix gets these numbers."""
    heard: list[float] = []

    def hear(_layer: nn.Module, args: tuple) -> None:
        given = args[0] if args else None
        if isinstance(given, Tensor) and given.is_floating_point() and given.numel():
            heard.append(float(given.float().abs().max()))

    leaves = (one for one in subject.model.modules() if not any(True for _ in one.children()))
    layers = [one for one in leaves if any(weight.dim() > 1 for weight in one.parameters())]
    handles = [layer.register_forward_pre_hook(hear) for layer in layers]
    try:
        with suppress(Exception), training_step(open_model(subject.model)), torch.no_grad():
            subject.model(**subject.batch_at_model())
    finally:
        for handle in handles:
            handle.remove()
    own = float(value.float().abs().max())
    return bool(heard) and all(abs(one - own) > NEAR * own for one in heard)


def _mask(batch: Mapping, subject: Subject, sheet: Sheet) -> None:
    """A mask that is 1 on padding alone."""
    ids, mask = batch["input_ids"], batch.get("attention_mask")
    config = getattr(subject.model, "config", None)
    of_model = getattr(config, "pad_token_id", None)
    pad = getattr(subject.tokenizer, "pad_token_id", of_model)
    if not isinstance(mask, Tensor) or mask.shape != ids.shape or pad is None:
        return
    text, shown = ids != pad, mask.bool()
    if bool(text.any()) and torch.equal(shown, ~text):
        said = f"the mask is 0 on all {int(text.sum())} tokens of text"
        said += "" if bool(text.all()) else " and 1 on the padding"
        sheet.find("mask_inverted", COUNTED + 1, said, place="attention_mask")


@speaks_for(Loss.NEXT_TOKEN)
def _moved_labels(subject: Subject, sheet: Sheet) -> None:
    """Labels that are the next id at every place, before a loss that moves them once more.

    `inspect_batch` sees them with a tokenizer.
    """
    ids, labels = subject.batch["input_ids"], subject.batch.get("labels")
    if not isinstance(labels, Tensor) or labels.shape != ids.shape or labels.shape[1] < FEWEST:
        return
    learnt = labels[:, :-1] != IGNORED
    is_own = torch.equal(labels[:, :-1][learnt], ids[:, :-1][learnt])
    if are_next_ids(labels, ids) and not is_own and moves_labels(subject):
        said = f"all {int(learnt.sum())} labels with an id behind them are that id"
        sheet.find("labels_shifted", COUNTED, said, place="labels")


def _positions(batch: Mapping, sheet: Sheet) -> None:
    given = batch.get("position_ids")
    if not isinstance(given, Tensor) or given.dim() != 2 or given.shape[-1] < FEWEST:
        return
    if bool((given == given[:, :1]).all()):
        said = f"position_ids are {int(given[0, 0])} at all {given.shape[-1]} tokens"
        sheet.find("positions_wrong", COUNTED, said, place="position_ids")
