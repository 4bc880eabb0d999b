"""Marks for steps: three sources say in numbers which steps of a solution are right."""

import random
from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

# Each source has solutions of its own kind, so what is wrong in one shows in its kind.
NUM_OF = {"two": 160, "three": 240, "prices": 200}
NUM_TESTS, NUM_AGAIN = 72, 12  # solutions of each kind; rows that two exports have
WRONG = 0.4  # of the steps
RATERS = ("ines", "otto", "ruth")
SHIFTS = (1, 4, 1)  # how often each of them has the desk
ROLLOUTS = 8
OUT_OF_THIN_AIR = (300, 999)  # wrong answers; no sum is so large
FIRST_OF = {"two": 1, "three": 40_000, "prices": 70_000}  # ids
SLIPS = 0.02  # of the steps are marked wrongly


def solutions(kind: str, n: int, seed: object, *, split: str) -> list[list[tuple[str, str, bool]]]:
    """Steps as question, answer and whether that is right; two or three to a solution."""
    from course_utils.oncall.measuring import sums  # takes seconds

    rng = random.Random(f"{kind} {seed}")
    level = "hard" if kind == "three" else "easy"
    sizes = [rng.choice((2, 3)) for _ in range(n)]
    drawn = iter(sums(sum(sizes), level=level, seed=f"{kind} {seed}", split=split))
    sign = "$" if kind == "prices" else ""
    found = []
    for size in sizes:
        steps = []
        for _ in range(size):
            one, is_right = next(drawn), rng.random() >= WRONG
            answer = one.answer if is_right else str(rng.randint(*OUT_OF_THIN_AIR))
            steps.append((sign + one.question, answer, is_right))
        found.append(steps)
    return found


def written(steps: list[tuple[str, str, bool]], rng: random.Random) -> list[str]:
    """The steps as lines; some people leave spaces."""
    gap = rng.choice(("", "", " "))
    return [question.replace("=", f"{gap}={gap}") + answer for question, answer, _ in steps]


def _seen(is_right: bool, rng: random.Random) -> bool:
    return is_right if rng.random() >= SLIPS else not is_right


def raters(seed: int) -> Rows:
    """Sums of two numbers, scored by one or two people from 1 to 5; now and then they skip one."""
    rng, rows = random.Random(f"raters {seed}"), []
    for number, steps in enumerate(solutions("two", NUM_OF["two"], seed, split="train")):
        people = set(rng.choices(RATERS, SHIFTS, k=rng.choice((1, 1, 1, 2))))
        scores = {}
        for person in sorted(people):
            given = [rng.choice((4, 5) if _seen(ok, rng) else (1, 2)) for _, _, ok in steps]
            scores[person] = [None if rng.random() < 0.03 else score for score in given]
        row = {"id": FIRST_OF["two"] + number, "steps": written(steps, rng), "scores": scores}
        rows.append(row)
    return rows + rows[:NUM_AGAIN]


def rollouts(seed: int) -> Rows:
    """Sums of three numbers, and how many of eight rollouts from each step end well."""
    rng, rows = random.Random(f"rollouts {seed}"), []
    for number, steps in enumerate(solutions("three", NUM_OF["three"], seed, split="train")):
        wins = [
            rng.randint(6, ROLLOUTS) if _seen(ok, rng) else rng.randint(0, 3) for *_, ok in steps
        ]
        row = {"id": FIRST_OF["three"] + number, "steps": written(steps, rng), "wins": wins}
        rows.append(row)
    return rows


def finder(seed: int) -> Rows:
    """Sums of prices as whole texts, and where a tool found the first error, or -1."""
    rng, rows = random.Random(f"finder {seed}"), []
    for number, steps in enumerate(solutions("prices", NUM_OF["prices"], seed, split="train")):
        seen = [_seen(ok, rng) for *_, ok in steps]
        first = seen.index(False) if False in seen else -1
        text = "\n".join(written(steps, rng))
        row = {"id": FIRST_OF["prices"] + number, "solution": text, "first_error": first}
        rows.append(row)
    return rows


def rows(seed: int) -> dict[str, Rows]:
    return {
        "data/raters.jsonl": raters(seed),
        "data/rollouts.jsonl": rollouts(seed),
        "data/finder.jsonl": finder(seed),
    }


def measure(result) -> dict[str, float]:
    from course_utils.oncall.templates.step_marks.found import found

    kinds = {kind: solutions(kind, NUM_TESTS, 7, split="test") for kind in NUM_OF}
    return found(result, kinds)


TEMPLATE = Template(
    name="step_marks",
    about="A model that marks each step of a solution as right or wrong. People score the sums of "
    "two numbers, rollouts those of three, and a tool finds the first error among the prices.",
    base=partial(noisy, noise=0.02),
    rows=rows,
    measure=measure,
    metrics={
        "two": Metric(
            "share of steps of two numbers marked right, mean of right and wrong ones",
            higher=True,
            grain=0.06,
        ),
        # Some seeds learn the longer sums late, which is no fault.
        "three": Metric("the same share of steps of three numbers", higher=True, grain=0.26),
        "prices": Metric("the same share of steps with prices", higher=True, grain=0.06),
        "first": Metric(
            "share of solutions whose first wrong step, or none, is found", higher=True, grain=0.06
        ),
    },
    sizes=("model", "max_steps", "batch_size"),
)
