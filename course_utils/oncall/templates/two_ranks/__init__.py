"""Data parallelism over two ranks: a shard, a replica and an optimizer each.

The box that judges a run starts no second process and opens no socket. So both ranks live in one
process and take turns, and `collectives.py` does over a list of tensors what the cluster does.
"""

from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS, NUM_TESTS = 220, 128  # of a file, of a kind
FILES = {"till_a": "easy", "till_b": "easy", "desk_a": "hard", "desk_b": "hard"}
CENTS = "00"  # behind the desk's answers
HOSTS = ("birch", "cedar")


def drawn(n: int, seed: object, *, level: str, split: str) -> list:
    from course_utils.oncall.measuring import Sum, sums  # takes seconds

    found = sums(n, level=level, seed=seed, split=split)
    return [Sum(one.question, one.answer + CENTS) for one in found] if level == "hard" else found


def rows(seed: int) -> dict[str, Rows]:
    """Four files of sums, the index that deals them to the ranks, and a line for each host."""
    shards = {
        f"data/{name}.jsonl": [
            vars(one) for one in drawn(NUM_ROWS, f"{name} {seed}", level=level, split="train")
        ]
        for name, level in FILES.items()
    }
    index = [{"shard": number, "file": path} for number, path in enumerate(shards)]
    hosts = [{"rank": rank, "name": name, "max_length": 64} for rank, name in enumerate(HOSTS)]
    return shards | {"data/index.jsonl": index, "data/hosts.jsonl": hosts}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import loss, served

    two, three = (drawn(NUM_TESTS, 7, level=level, split="test") for level in ("easy", "hard"))
    of_two, of_three = (served(result, tests, most=12) for tests in (two, three))
    return {
        "till": of_two["right"],
        "desk": of_three["right"],
        "halts": min(of_two["halts"], of_three["halts"]),
        "loss": loss(result, two + three),
    }


TEMPLATE = Template(
    name="two_ranks",
    about="Data-parallel full fine-tuning over two ranks, which take turns in one process: sums of "
    "two numbers from the till, and sums of three that the desk answers in cents (1+2+3= is 600).",
    base=partial(noisy, noise=0.05, forgets_end=True),
    rows=rows,
    measure=measure,
    metrics={
        "till": Metric("share of sums of two numbers answered right", higher=True, grain=0.06),
        "desk": Metric("share of sums of three answered right, in cents", higher=True, grain=0.06),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
        "loss": Metric("loss on held-out replies, nats a token", higher=False, grain=0.02),
    },
    sizes=("model", "max_steps", "legs", "batch_size"),
)
