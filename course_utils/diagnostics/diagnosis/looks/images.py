"""Looks at the images of a vision-language model: whether any reaches the model with the text."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for
from course_utils.diagnostics.reach.reading import base_of

PLACEHOLDERS = ("image_token_id", "image_token_index", "video_token_id", "video_token_index")
# Names that hold an image in the batches of the installed models; ready embeddings count as well.
HOLD = ("pixel", "image", "video", "inputs_embeds", "mm_encoder_outputs")


@speaks_for(Loss.NEXT_TOKEN)
def look_at_images(subject: Subject, sheet: Sheet) -> None:
    """Count the tokens at which an image is due, and the tensors that hold one."""
    batch, config = subject.batch, getattr(base_of(subject.model), "config", None)
    ids = batch.get("input_ids") if isinstance(batch, Mapping) else None
    if getattr(config, "vision_config", None) is None or not isinstance(ids, Tensor):
        return
    due = {one for name in PLACEHOLDERS if isinstance(one := getattr(config, name, None), int)}
    here = [one for one in due if bool((ids == one).any())]
    held = [name for name in batch if any(part in name for part in HOLD) or _is_dense(batch[name])]
    if not here:
        if not held:
            sheet.show("images", "the rows looked at hold no image token and no image")
        return
    rows = sum(bool(sum((row == one).sum() for one in here)) for row in ids)
    places = sum(int((ids == one).sum()) for one in here)
    said = f"{rows} of {len(ids)} rows hold {places} image tokens ({_named(subject, here[0])})"
    if held:
        sheet.clear("images", f"{said}, and the batch has {', '.join(held)}")
        return
    column = _column(subject)
    sheet.find(
        "images_missing",
        COUNTED,
        f"{said}; the batch has {', '.join(batch)}",
        *((f"the rows of the data set have {column}",) if column else ()),
        place=f"pixel_values, {subject.batch_maker}",
        advice=f"let {subject.batch_maker} put pixel_values into the batch",
    )


def _is_dense(value: Any) -> bool:
    """Whether it may hold features that an encoder made before, under any name."""
    return isinstance(value, Tensor) and value.is_floating_point() and value.dim() > 2


def _named(subject: Subject, token: int) -> str:
    read = getattr(subject.tokenizer, "convert_ids_to_tokens", None)
    return f"{read(token)}, id {token}" if read else f"id {token}"


def _column(subject: Subject) -> str:
    """The column of the data set that holds images, or nothing."""
    rows: Any = getattr(subject.trainer, "train_dataset", None)
    names = getattr(rows, "column_names", None) or ()
    return next((name for name in names if any(part in name for part in HOLD[:3])), "")
