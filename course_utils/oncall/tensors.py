"""Converts tensors to the text of a ticket's files, and back."""

from safetensors.torch import load, save
from torch import Tensor

from course_utils.oncall.binaries import TENSORS, as_bytes, as_text

Tensors = dict[str, Tensor]


def as_tensors(text: str) -> Tensors:
    """The tensors of a file, by name.

    Raises:
        ValueError: it is no file of tensors.
    """
    try:
        return load(as_bytes(TENSORS, text))
    except Exception as error:  # safetensors and base64 raise several kinds
        raise ValueError("no file of tensors") from error


def text_of(tensors: Tensors) -> str:
    """The file with these tensors, the same for the same tensors in any order."""
    ordered = {name: tensors[name].contiguous() for name in sorted(tensors)}
    return as_text(TENSORS, save(ordered, {"format": "pt"}))
