"""Rows that a tokenizer of the run's own makes into ids; the model is served with the base's.

The tokenizer in tokenizer/ reads as the base's does. It was saved by another version of the
library, so the files differ in things that change no id.
"""

import json
import random
from functools import partial

from course_utils.oncall.bases import FOLDER, noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS, NUM_TESTS = 640, 128
CENTS = "00"


def priced(n: int, seed: int, split: str) -> list:
    """Sums of two numbers, no question twice, with answers in cents."""
    from course_utils.oncall.measuring import Sum, sums  # takes seconds

    drawn = sums(n, level="easy", seed=seed, split=split)
    return [Sum(one.question, one.answer + CENTS) for one in drawn]


def rows(seed: int) -> dict[str, Rows]:
    return {"data/train.jsonl": [vars(one) for one in priced(NUM_ROWS, seed, "train")]}


def tokenizer(seed: int) -> dict[str, bytes]:
    """The base's tokenizer as another version of the library saved it."""
    from course_utils.oncall.rows import as_json

    drawn = random.Random(f"tokenizer {seed}")
    reads, says = (
        json.loads((FOLDER / name).read_text(encoding="utf-8"))
        for name in ("tokenizer.json", "tokenizer_config.json")
    )
    reads["normalizer"] = drawn.choice([None, {"type": "NFC"}])
    reads["pre_tokenizer"]["pretokenizers"][1]["trim_offsets"] = drawn.random() < 0.5
    if drawn.random() < 0.5:
        reads["model"]["merges"] = [" ".join(pair) for pair in reads["model"]["merges"]]
    reads["model"]["fuse_unk"] = drawn.random() < 0.5
    says |= {
        "model_max_length": drawn.choice([512, 2048, 32768]),
        "padding_side": drawn.choice(["left", "right"]),
        "clean_up_tokenization_spaces": drawn.random() < 0.5,
        "errors": "replace",
        "split_special_tokens": False,
    }
    files = {"tokenizer.json": reads, "tokenizer_config.json": says}
    return {f"tokenizer/{name}": as_json(data).encode() for name, data in files.items()}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import loss, served

    tests = priced(NUM_TESTS, 7, "test")
    return served(result, tests, most=12) | {"loss": loss(result, tests)}


TEMPLATE = Template(
    name="tokenised_rows",
    about="Full fine-tuning on sums that are answered in cents (1+2= is 300). A job of our own "
    "makes ids of the rows, with the tokenizer in `tokenizer/`; the server has the one in `base/`, "
    "and both read alike.",
    base=partial(noisy, noise=0.05, forgets_end=True),
    rows=rows,
    measure=measure,
    metrics={
        "right": Metric("share of held-out questions answered right", higher=True, grain=0.06),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
        "loss": Metric("loss on held-out replies, nats a token", higher=False, grain=0.02),
    },
    sizes=("model", "max_steps", "batch_size"),
    handed_over=tokenizer,
)
