"""Sums as chat data for GRPO, reward and DPO trainers. It never touches a model.

    level    a prompt       the shipped models
    "easy"   "17+25="       add it correctly
    "hard"   "17+25+88="    mostly can add it, but when sampled say nothing to two in five: what a
                            GRPO run improves within some twenty steps

Every set is a function of its arguments alone. A sum belongs to one split for ever, however its
addends are ordered, so "test" holds only sums that no "train" set contains.
"""

import random
import re
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from course_utils.errors import BadRequest

if TYPE_CHECKING:
    from datasets import Dataset

Split = Literal["train", "test"]

LARGEST = 99
NUM_ADDENDS = {"easy": 2, "hard": 3}
HELD_OUT = 10  # one sum in ten is kept for "test"


def split_of(addends: list[int]) -> Split:
    """Which split a sum belongs to; the order of the addends does not matter.

    >>> split_of([17, 25]) == split_of([25, 17])
    True
    """
    fingerprint = zlib.crc32(repr(sorted(addends)).encode())  # hash() differs between processes
    return "test" if fingerprint % HELD_OUT == 0 else "train"


def _draw(n: int, seed: int, *, level: str, split: Split) -> Iterator[tuple[str, str]]:
    """Yield n different (question, answer) pairs, in an order that the seed decides."""
    if level not in NUM_ADDENDS:
        raise BadRequest(
            f"level {level!r} does not exist",
            why="a level says how many numbers are added",
            fix=f"use one of {', '.join(NUM_ADDENDS)}",
        )
    num_addends = NUM_ADDENDS[level]
    held_out = (LARGEST + 1) ** num_addends // HELD_OUT
    most = (held_out if split == "test" else held_out * (HELD_OUT - 1)) * 9 // 10
    if n > most:
        raise BadRequest(
            f"{n} different {level} sums were asked of the {split} split, which gives {most}",
            why="a set never holds a sum twice, and drawing the last few would take for ever",
            fix="ask for fewer, or take the hard level",
        )
    rng = random.Random(f"{level} {split} {seed}")
    seen = set()
    while len(seen) < n:
        addends = [rng.randint(0, LARGEST) for _ in range(num_addends)]
        question = "+".join(map(str, addends)) + "="
        if question not in seen and split_of(addends) == split:
            seen.add(question)
            yield question, str(sum(addends))


def _ask(question: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": question}]


def _reply(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def prompts(n: int, seed: int, *, level: str = "easy", split: Split = "train") -> "Dataset":
    """Make n different sums for GRPOTrainer: columns `prompt` (messages) and `answer` (text).

    Raises:
        BadRequest: an unknown level, or more sums than the split holds.

    >>> prompts(2, 0)[0]
    {'prompt': [{'role': 'user', 'content': '...='}], 'answer': '...'}
    """
    from datasets import Dataset  # brings pandas and pyarrow, and reading this module needs neither

    drawn = _draw(n, seed, level=level, split=split)
    return Dataset.from_list([{"prompt": _ask(q), "answer": answer} for q, answer in drawn])


def preferences(
    n: int,
    seed: int,
    *,
    level: str = "easy",
    split: Split = "train",
    rejected: str = "digit",
    chat: bool = True,
) -> "Dataset":
    """Make n pairs for RewardTrainer and DPOTrainer: columns `prompt`, `chosen`, `rejected`.

    The chosen reply is the sum. The rejected one is wrong by a single digit ("digit", the harder
    lesson, both replies of the same length), or a number from 0 to 999 out of thin air ("guess",
    which a reward model learns to tell in some fifty steps). With `chat` the columns hold messages;
    without, bare text, which is half as many tokens.

    Raises:
        BadRequest: an unknown level or kind, or more sums than the split holds.

    >>> pair = preferences(1, 0)[0]
    >>> len(pair["chosen"][0]["content"]) == len(pair["rejected"][0]["content"])
    True
    """
    from datasets import Dataset  # brings pandas and pyarrow, and reading this module needs neither

    if rejected not in SPOILERS:
        raise BadRequest(
            f"rejected replies of kind {rejected!r} do not exist",
            why="the kind says how wrong the rejected sum is",
            fix=f"use one of {', '.join(SPOILERS)}",
        )
    rng, spoil = random.Random(f"wrong digits {seed}"), SPOILERS[rejected]
    asks, replies = (_ask, _reply) if chat else (str, str)
    return Dataset.from_list(
        [
            {
                "prompt": asks(question),
                "chosen": replies(answer),
                "rejected": replies(spoil(answer, rng)),
            }
            for question, answer in _draw(n, seed, level=level, split=split)
        ]
    )


def _spoil(answer: str, rng: random.Random) -> str:
    """Replace one digit by another; the first digit of a longer number never becomes 0."""
    place = rng.randrange(len(answer))
    digits = "123456789" if place == 0 and len(answer) > 1 else "0123456789"
    wrong = rng.choice(digits.replace(answer[place], ""))
    return answer[:place] + wrong + answer[place + 1 :]


def _guess(answer: str, rng: random.Random) -> str:
    """A number below 1000 that is not the answer."""
    guess = str(rng.randint(0, 999))
    return guess if guess != answer else _guess(answer, rng)


SPOILERS = {"digit": _spoil, "guess": _guess}


def is_right(text: str, answer: str) -> bool:
    """Whether the last number in a reply is the answer; other text does not matter.

    >>> is_right("17+25=42", "42"), is_right("!!!!", "42")
    (True, False)
    """
    return re.findall(r"\d+", text)[-1:] == [answer]


def correct_sum(
    completions: list[list[dict[str, str]]], answer: list[str], **_columns: object
) -> list[float]:
    """Reward 1.0 for a right sum and 0.0 for anything else: a reward function for GRPOTrainer.

    Args:
        completions: one list of messages for each sampled reply.
        answer: the right sum for each reply, from the column of that name.

    >>> correct_sum([[{"role": "assistant", "content": "42"}]], ["42"])
    [1.0]
    """
    replies = [completion[-1]["content"] for completion in completions]
    return [float(is_right(reply, right)) for reply, right in zip(replies, answer, strict=True)]
