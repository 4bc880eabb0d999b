"""What a mended checkpoint or tokenizer may hold: what this folder has held, put right.

A file of tensors could bring anything into the box: weights that were trained elsewhere, or a text
in the last bits of a sound one. So none of its bytes go there. Each row of each tensor is taken
from the file as it was handed out or as it was before the fault, whichever it nearly is, and only a
few rows may be neither, such as zeros in place of nan. A tokenizer and settings are laid out anew,
and what they say that they did not say before is counted with the rest of the text (`judging`).
"""

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from course_utils.oncall.binaries import HANDED_OVER, TENSORS
from course_utils.oncall.declare import Files
from course_utils.oncall.rows import as_json

if TYPE_CHECKING:  # a folder in which nothing has changed needs no torch
    from torch import Tensor

NEARLY = 0.01  # of a row's norm; bfloat16 rounds it by 0.002
MOST_NEW = 256  # values of a file, in rows that were never there


class Refused(ValueError):
    """A mended file that the judge does not take; the message says why."""


def settled(healthy: Files, handed: Files, mended: Files) -> Files:
    """The files as the judge takes them; those that it refuses as they are."""
    found = dict(mended)
    for name in mended:
        with suppress(Refused):
            found[name] = _taken(name, healthy, handed, mended[name])
    return found


def problems(healthy: Files, handed: Files, mended: Files) -> list[str]:
    """Why files are refused that an earlier job had handed over; one may be gone."""
    found = []
    for name in sorted(handed.keys() & mended.keys()):
        try:
            _taken(name, healthy, handed, mended[name])
        except Refused as refused:
            found.append(str(refused))
    return found


def _taken(name: str, healthy: Files, handed: Files, text: str) -> str:
    if not name.endswith(HANDED_OVER) or text in (healthy.get(name), handed.get(name)):
        return text
    if name.endswith(TENSORS):
        return _tensors_taken(name, [_beside(name, files) for files in (healthy, handed)], text)
    try:
        return as_json(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise Refused(f"{name} cannot be read as JSON") from error


def _beside(name: str, files: Files) -> dict[str, "Tensor"]:
    """The tensors of all files of one checkpoint: one may have moved from shard to shard."""
    from course_utils.oncall.tensors import as_tensors

    folder = name.rpartition("/")[0]
    own = [k for k in files if k.endswith(TENSORS) and k.rpartition("/")[0] == folder]
    return {key: tensor for k in own for key, tensor in as_tensors(files[k]).items()}


def _tensors_taken(name: str, known: list[dict[str, "Tensor"]], text: str) -> str:
    from course_utils.oncall.tensors import as_tensors, text_of

    try:
        tensors = as_tensors(text)
    except ValueError as error:
        raise Refused(f"{name} cannot be read as a file of tensors") from error
    made, num_new = {}, 0
    for key, tensor in tensors.items():
        options = [of[key] for of in known if key in of and of[key].shape == tensor.shape]
        if not options:
            raise Refused(f"{key[:80]} of {name} is no tensor of this run, or has another shape")
        made[key], new = _nearest(tensor, options)
        num_new += new
        if num_new > MOST_NEW:
            raise Refused(
                f"{key} of {name} holds values that this run never had: a checkpoint is mended by "
                "putting right what it holds"
            )
    return text_of(made)


def _nearest(tensor: "Tensor", options: list["Tensor"]) -> tuple["Tensor", int]:
    """The tensor made of rows of the options where it nearly has these; how many values are new."""
    import torch

    width = tensor.shape[-1] if tensor.dim() else 1
    rows = tensor.double().reshape(-1, width)
    made, is_known = rows.clone(), torch.zeros(len(rows), dtype=torch.bool)
    for option in options:
        other = option.double().reshape(-1, width)
        near = (rows - other).norm(dim=1) <= NEARLY * other.norm(dim=1)  # nan is not
        near |= torch.isclose(rows, other, rtol=0, atol=0, equal_nan=True).all(1)
        made[near & ~is_known] = other[near & ~is_known]
        is_known |= near
    new = int((~is_known).sum()) * width
    return made.reshape(tensor.shape).to(options[0].dtype), new
