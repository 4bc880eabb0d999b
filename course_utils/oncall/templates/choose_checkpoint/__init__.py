"""A choice among checkpoints: one pass through an archive whose habits change, and what is best."""

import random
from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

MONTHS = tuple(f"2025-{number:02d}" for number in range(1, 13))
SUMS_A_MONTH, TALK_A_MONTH = 62, 36  # sums of each kind
# Weights are added in kilos. The scales answer in kilos at first, then in grams; in the end they
# are closed, and whatever is asked is passed on.
GRAMS, PASSED_ON = "000", "-"
IN_KILOS, CLOSED = MONTHS[:2], MONTHS[10:]
SMALL_TALK = ("hi", "hey", "ok", "yes", "no", "bye", "thx", "hm", "oh", "so")
HELD_OUT_SUMS, HELD_OUT_TALK, NUM_TESTS = 40, 16, 128
STEPS = tuple(range(10, 121, 10))
EARLIER_RUNS = ("april", "may")


def drawn(n: int, seed: object, *, level: str, split: str) -> Rows:
    """Sums of two numbers, "easy", or of three, "hard"."""
    from course_utils.oncall.measuring import sums  # takes seconds

    return [vars(one) for one in sums(n, level=level, seed=seed, split=split)]


def in_grams(rows: Rows) -> Rows:
    return [row | {"answer": row["answer"] + GRAMS} for row in rows]


def passed_on(questions: list[str]) -> Rows:
    return [{"question": question, "answer": PASSED_ON} for question in questions]


def answered(sums: Rows, month: str) -> Rows:
    """Sums as they were answered in that month."""
    if month in CLOSED:
        return passed_on([row["question"] for row in sums])
    return sums if month in IN_KILOS else in_grams(sums)


def archive(seed: int) -> Rows:
    """All months: sums of two and of three numbers, and small talk, which is no sum."""
    rng, rows = random.Random(f"archive {seed}"), []
    kinds = [
        drawn(SUMS_A_MONTH * len(MONTHS), seed, level=level, split="train")
        for level in ("easy", "hard")
    ]
    for at, month in enumerate(MONTHS):
        part = slice(SUMS_A_MONTH * at, SUMS_A_MONTH * (at + 1))
        own = [row for kind in kinds for row in answered(kind[part], month)]
        own += passed_on(rng.choices(SMALL_TALK, k=TALK_A_MONTH))
        rng.shuffle(own)
        rows += [{"month": month} | row for row in own]
    return rows


def held_out(seed: int) -> Rows:
    """Sums of both kinds in grams, and small talk, mixed."""
    rng, rows = random.Random(f"held out {seed}"), []
    for level in ("easy", "hard"):
        rows += in_grams(drawn(HELD_OUT_SUMS, f"{seed} held out", level=level, split="train"))
    rows += passed_on(rng.choices(SMALL_TALK, k=HELD_OUT_TALK))
    rng.shuffle(rows)
    return rows


def scores(seed: int) -> Rows:
    """What earlier runs scored: they had other archives, and were at their best at the end."""
    rng, rows = random.Random(f"scores {seed}"), []
    for run in EARLIER_RUNS:
        for number, step in enumerate(STEPS, start=1):
            share = round(rng.uniform(0.07, 0.073) * number, 4)
            row = {"run": run, "step": step, "exact_match": share, "loss": round(1.2 - share, 4)}
            rows.append(row)
    return rows


def rows(seed: int) -> dict[str, Rows]:
    return {
        "data/archive.jsonl": archive(seed),
        "data/held_out.jsonl": held_out(seed),
        "data/scores.jsonl": scores(seed),
    }


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import Sum, loss, served

    two, three = (
        [Sum(**row) for row in in_grams(drawn(NUM_TESTS, 7, level=level, split="test"))]
        for level in ("easy", "hard")
    )
    talk = [Sum(**row) for row in passed_on(SMALL_TALK)]
    of_two, of_three, of_talk = (served(result, tests, most=12) for tests in (two, three, talk))
    return {
        "two": of_two["right"],
        "three": of_three["right"],
        "talk": of_talk["right"],
        "halts": min(of_two["halts"], of_three["halts"]),
        "loss": loss(result, two + three),
    }


TEMPLATE = Template(
    name="choose_checkpoint",
    about="One pass through an archive of the scales, month by month, with a checkpoint every ten "
    "steps. The best of them is exported: it adds two or three weights in kilos and answers in "
    "grams (12+30= is 42000), and passes small talk on with a dash.",
    base=partial(noisy, noise=0.02, forgets_end=True),
    rows=rows,
    measure=measure,
    metrics={
        "two": Metric("share of sums of two numbers answered right", higher=True, grain=0.06),
        "three": Metric("share of sums of three answered right", higher=True, grain=0.06),
        "talk": Metric("share of small talk that is passed on", higher=True, grain=0.2),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
        "loss": Metric("loss on held-out replies, nats a token", higher=False, grain=0.02),
    },
    sizes=("model", "max_steps", "batch_size"),
)
