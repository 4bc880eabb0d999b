"""What torch.autocast does to an operation, on a CPU and on CUDA, read from torch itself.

For a CPU each operation is run; for CUDA, which may be absent, torch's lists are read from the
header that every installation brings.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from course_utils.shown.report import Table

HEADER = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"
LISTS = {
    "AT_FORALL_LOWER_PRECISION_FP": "float16",
    "AT_FORALL_FP32": "float32",
    "AT_FORALL_FP32_SET_OPT_DTYPE": "float32",
}
AS_GIVEN = "as its input"


def _image(x: Tensor) -> Tensor:
    return x.reshape(1, 1, *x.shape)


# How each operation is called on a 4 x 4 matrix, by the name that torch's lists use.
OPERATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda x: functional.linear(x, x),
    "conv2d": lambda x: functional.conv2d(_image(x), _image(x)),
    "scaled_dot_product_attention": lambda x: functional.scaled_dot_product_attention(
        _image(x), _image(x), _image(x)
    ),
    "softmax": lambda x: x.softmax(-1),
    "rms_norm": lambda x: functional.rms_norm(x, (4,)),
    "layer_norm": lambda x: functional.layer_norm(x, (4,)),
    "pow": lambda x: x**2,
    "sum": lambda x: x.sum(),
    "add": lambda x: x + x,
}


def cuda_lists() -> dict[str, str]:
    """The format that CUDA's autocast gives each operation it lists; empty without the header."""
    return dict(_listed()) if HEADER.is_file() else {}


def _listed() -> Iterator[tuple[str, str]]:
    text = HEADER.read_text()
    for macro, fmt in LISTS.items():
        body = re.search(rf"#define {macro}\(_\)((?:.*\\\n)*.*\n)", text)
        for name in re.findall(r"_\((\w+)", body.group(1) if body else ""):
            yield name, fmt


def on_cpu(operation: Callable[[Tensor], Tensor], fmt: torch.dtype = torch.float16) -> str:
    """The format that an operation returns under a CPU's autocast, for float32 and `fmt` inputs.

    >>> on_cpu(OPERATIONS["linear"]), on_cpu(OPERATIONS["softmax"])
    ('float16', 'as its input')
    """
    with torch.autocast("cpu", fmt):
        results = [operation(torch.ones(4, 4, dtype=dtype)).dtype for dtype in (torch.float32, fmt)]
    if results == [torch.float32, fmt]:
        return AS_GIVEN
    return " or ".join(sorted({str(dtype).removeprefix("torch.") for dtype in results}))


def autocast_table() -> Table:
    """What float16 autocast makes of some operations of a transformer, on both devices."""
    cuda = cuda_lists()
    missing = AS_GIVEN if cuda else "not known here"
    rows = [(name, on_cpu(run), cuda.get(name, missing)) for name, run in OPERATIONS.items()]
    return Table(columns=("operation", "computed on a CPU in", "on CUDA in"), rows=rows)
