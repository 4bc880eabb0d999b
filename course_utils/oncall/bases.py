"""Checkpoints that training starts from: the zoo's tiny Qwen2, worse by noise that a seed draws.

Another seed is another checkpoint: what was trained from one is of no use for another.
"""

from functools import cache

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from course_utils.zoo.load import SHIPPED, WEIGHTS, load_tokenizer

FOLDER = WEIGHTS / SHIPPED["tiny"]
COPIED = ("config.json", "tokenizer.json", "tokenizer_config.json")


def noisy(seed: int, *, noise: float, forgets_end: bool = False) -> dict[str, bytes]:
    """The files of base/.

    Args:
        noise: of each matrix of the blocks, in standard deviations of its weights.
        forgets_end: draw the row of the end token anew, as a base checkpoint's is: it adds, and
            has never learnt to stop.
    """
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, weight in sorted(_shipped().items()):
        drawn = torch.randn(weight.shape, generator=generator)
        is_matrix = weight.dim() == 2 and "embed" not in name
        weights[name] = weight + noise * weight.std() * drawn if is_matrix else weight.clone()
    if forgets_end:
        end = load_tokenizer("tiny").eos_token_id
        table = weights["model.embed_tokens.weight"]
        table[end] = table.std() * torch.randn(table.shape[1], generator=generator)
    files = {name: (FOLDER / name).read_bytes() for name in COPIED}
    return files | {"model.safetensors": save(weights, {"format": "pt"})}


@cache
def _shipped() -> dict[str, Tensor]:
    return load_file(FOLDER / "model.safetensors")
