"""Distils a teacher into a student on questions alone: the teacher writes the replies.

The teacher is a checkpoint that another team handed over, in two shards. It is the shipped model
with a little noise of its own; the base's table, norms and biases are the shipped ones as well.
"""

import json
from functools import partial

from course_utils.oncall.bases import FOLDER, noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS, NUM_TESTS = 480, 128
OTHER_SEED, NOISE = 10**6, 0.02  # of the teacher's noise: that of no base
SHARD = "model-0000{}-of-00002.safetensors"


def rows(seed: int) -> dict[str, Rows]:
    """Questions without answers."""
    from course_utils.oncall.measuring import sums  # takes seconds

    drawn = sums(NUM_ROWS, level="easy", seed=seed, split="train")
    return {"data/questions.jsonl": [{"question": one.question} for one in drawn]}


def teacher(seed: int) -> dict[str, bytes]:
    """A checkpoint in float16: the table and two layers, then two layers and the norm."""
    import torch
    from safetensors.torch import load

    from course_utils.oncall.binaries import as_bytes
    from course_utils.oncall.rows import as_json
    from course_utils.oncall.tensors import text_of

    whole = load(noisy(OTHER_SEED + seed, noise=NOISE)["model.safetensors"])
    shards: tuple[dict, dict] = ({}, {})
    for name, tensor in whole.items():
        is_late = name == "model.norm.weight" or any(f"layers.{n}." in name for n in (2, 3))
        shards[is_late][name] = tensor.to(torch.float16)
    files = {
        SHARD.format(n): as_bytes(SHARD, text_of(shard)) for n, shard in enumerate(shards, start=1)
    }
    size = sum(t.numel() * t.element_size() for shard in shards for t in shard.values())
    names = {name: SHARD.format(n) for n, shard in enumerate(shards, start=1) for name in shard}
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(names.items()))}
    settings = json.loads((FOLDER / "config.json").read_text()) | {"dtype": "float16"}
    files |= {
        name: as_json(data).encode()
        for name, data in (("model.safetensors.index.json", index), ("config.json", settings))
    }
    return {f"teacher/{name}": data for name, data in files.items()}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import loss, served, sums

    tests = sums(NUM_TESTS, level="easy")
    return served(result, tests, most=12) | {"loss": loss(result, tests)}


TEMPLATE = Template(
    name="teacher_replies",
    about="A small model learns what a teacher says: the teacher, a checkpoint in two shards that "
    "another team merged and handed over, answers questions about sums, and the student learns "
    "its distribution of each token of these replies.",
    base=partial(noisy, noise=0.5),
    rows=rows,
    measure=measure,
    metrics={
        "right": Metric("share of held-out questions answered right", higher=True, grain=0.06),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
        "loss": Metric("loss on held-out replies, nats a token", higher=False, grain=0.02),
    },
    sizes=("student", "teacher", "max_steps", "batch_size"),
    handed_over=teacher,
)
