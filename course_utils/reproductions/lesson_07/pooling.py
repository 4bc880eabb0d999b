"""Chosen and rejected replies as a reward model reads them: alone, and in a batch, padded.

`compared` counts what a way of pooling makes of them; nothing is judged.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase

from course_utils import zoo
from course_utils.reproductions.lesson_07.batches import on_the_left
from course_utils.shown.report import Table

Pool = Callable[..., Tensor]  # of input_ids and attention_mask, (rows, tokens): one score per row


@dataclass(frozen=True)
class Pairs:
    """The same texts twice; the first half of the rows are chosen, the second rejected replies."""

    alone: list[dict[str, Tensor]]
    by_side: dict[str, dict[str, Tensor]]  # the side of the padding, "right" or "left"


def pairs(tokenizer: PreTrainedTokenizerBase, *, pad: int, n: int = 16, seed: int = 0) -> Pairs:
    """Two replies to each of n sums, as whole chats."""
    drawn = list(zoo.arithmetic.preferences(n, seed))
    chats = [row["prompt"] + row[key] for key in ("chosen", "rejected") for row in drawn]
    ids = tokenizer.apply_chat_template(chats, tokenize=True)["input_ids"]
    texts = [torch.tensor(one) for one in ids]
    ones = [torch.ones_like(text) for text in texts]
    alone = [
        {"input_ids": text[None], "attention_mask": one[None]}
        for text, one in zip(texts, ones, strict=True)
    ]
    right = {
        "input_ids": pad_sequence(texts, batch_first=True, padding_value=pad),
        "attention_mask": pad_sequence(ones, batch_first=True),
    }
    return Pairs(alone, {"right": right, "left": on_the_left(right)})


def compared(read: Pairs, pool: Pool) -> dict[str, tuple[float, float]]:
    """For each side: the share of scores that the batch changes, and of pairs with equal scores."""
    with torch.no_grad():
        single, shares = torch.cat([pool(**one) for one in read.alone]), {}
        for side, batch in read.by_side.items():
            together = pool(**batch)
            chosen, rejected = together.chunk(2)
            moved = ((together - single).abs() > 1e-4).double().mean().item()
            equal = ((chosen - rejected).abs() < 1e-5).double().mean().item()
            shares[side] = (moved, equal)
    return shares


def table(shares: dict[str, dict[str, tuple[float, float]]]) -> Table:
    """The results of `compared`, for each way of pooling by its name."""
    rows = [
        (f"{name}, padded on the {side}", *(f"{share:.0%}" for share in both))
        for name, by_side in shares.items()
        for side, both in by_side.items()
    ]
    return Table(("pooling", "scores that the batch changes", "pairs with equal scores"), rows)
