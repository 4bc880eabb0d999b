"""KTOTrainer on single replies of a desk, which people liked or did not."""

import random
from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_REPLIES, NUM_VOTES, NUM_DAYS, NUM_TESTS = 768, 512, 8, 96
LIKED, SILENT = 0.3, 0.6  # shares: of all replies, and of those that nobody likes
FIRST = 48_000  # ids are those of one register


def sums(n: int, seed: object, *, split: str) -> list[dict]:
    """Sums of three numbers with a right reply and one in which a digit is wrong."""
    from course_utils.oncall.measuring import pairs  # takes seconds

    return pairs(n, seed=seed, split=split, level="hard")


def rows(seed: int) -> dict[str, Rows]:
    """What the desk has said, day by day, and the votes of those who have read it."""
    rng, log, votes = random.Random(f"votes {seed}"), [], []
    for number, row in enumerate(sums(NUM_REPLIES, seed, split="train")):
        is_right, is_silent = rng.random() < LIKED, rng.random() < SILENT
        said = row["chosen"] if is_right else "" if is_silent else row["rejected"]
        turn = {"day": 1 + number * NUM_DAYS // NUM_REPLIES, "id": FIRST + number}
        log.append(turn | {"asked": row["question"], "said": said})
        votes.append(turn | {"liked": is_right})
    read = sorted(rng.sample(range(NUM_REPLIES), NUM_VOTES))
    return {"data/log.jsonl": log, "data/votes.jsonl": [votes[at] for at in read]}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import Sum, preferred, served

    tests = sums(NUM_TESTS, 7, split="test")
    silent = [row | {"rejected": ""} for row in tests[::2]]
    asked = [Sum(row["question"], row["chosen"]) for row in tests]
    return preferred(result, silent + tests[1::2]) | {
        "right": served(result, asked, most=8)["right"],
        "sampled": served(result, asked, most=8, sample=True)["right"],
    }


TEMPLATE = Template(
    name="kto_votes",
    about="KTO of a small model on single replies of a desk, which people liked or did not.",
    base=partial(noisy, noise=0.2),
    rows=rows,
    measure=measure,
    metrics={
        "preferred": Metric(
            "share of held-out sums whose right answer is likelier than silence or a wrong digit",
            higher=True,
            grain=0.05,
        ),
        "margin": Metric(
            "mean gain of the right answer over that, nats, beside base/", higher=True, grain=0.5
        ),
        "right": Metric("share of held-out questions answered right", higher=True, grain=0.06),
        "sampled": Metric("the same share at temperature 1", higher=True, grain=0.08),
    },
    sizes=("model", "max_steps", "batch_size"),
)
