"""What is looked at in an answer to exercise 08.8: the diagnosis, and runs made with its mend."""

import functools
from collections.abc import Callable, Iterator

from torch import Tensor

from course_utils.diagnostics.splits.judging import distance
from course_utils.exercises.broken_script import Diagnosis, Variant, of_the_mend
from course_utils.exercises.settings import OverSeeds, over_seeds
from course_utils.fingerprint import Fingerprint, changed, fingerprint
from course_utils.reproductions.unseen_08 import BATCH_SIZE, HEALTHY, NUM_STEPS, Run
from course_utils.watched import InputsChanged

SEEDS = (3, 4, 5)
SAME, SAME_MODEL = 1e-5, 1e-3


class Tried(Diagnosis):
    """A diagnosis, and the runs made with its mend."""

    def __init__(self, unseen: dict, variant: Variant) -> None:
        super().__init__(unseen, variant)
        if self.place == "count":
            self.fix = _keeps_the_rows(self.fix)
        self.runs = OverSeeds(self.fresh, SEEDS)

    def fresh(self, seed: int) -> Run:
        return self.variant.ticket.fresh(seed, **{self.place: self.fix})


def _keeps_the_rows(count: Callable) -> Callable:
    """`count`, and a change of the rows it is given ends the check: the loop goes on with them."""

    def look(rows: list) -> Fingerprint:
        return fingerprint([vars(row) for row in rows], "rows")

    @functools.wraps(count)
    def call(rows):
        before = look(rows)
        counted = count(rows)
        if place := changed(before, look(rows)):
            raise InputsChanged(f"the call changed {place}")
        return counted

    return call


def _healthy(run: Run, rows: list) -> tuple[Tensor, float]:
    """Gradient and logged loss of these rows at once, by the healthy parts."""
    healthy = Run(HEALTHY, 0)
    healthy.model.load_state_dict(run.model.state_dict())
    return healthy.gradient([rows]), healthy.step([rows])


def _two_steps(run: Run) -> Iterator[tuple[str, list]]:
    """The rows of the first step, and of one with labels in every row, at some of its places."""
    yield "step 1", run.rows[:BATCH_SIZE]
    for step in range(1, NUM_STEPS):
        rows = run.rows[step * BATCH_SIZE : (step + 1) * BATCH_SIZE]
        if all(HEALTHY["count"]([row])["label"] for row in rows):
            yield f"step {step + 1}", rows
            return


@over_seeds
def same_step(run: Run) -> str | None:
    for name, rows in _two_steps(run):
        want, logged = _healthy(run, rows)
        for size in (8, 4, 3, 1):
            micro = [rows[at : at + size] for at in range(0, len(rows), size)]
            got, said = run.gradient(micro), run.step(micro)
            off, given = distance(got, want), f"in {name}, at most {size} rows a micro-batch,"
            if not off <= SAME:
                ratio = float(got.norm() / want.norm())
                return (
                    f"{given} the gradient is off by {off:.2g} of its length, its norm "
                    f"{ratio:.3g} times the right one"
                )
            if not abs(said - logged) <= SAME_MODEL:
                return f"{given} the gradient is right, and it logs {said:.4g} for {logged:.4g}"
    return None


@of_the_mend
def cut_changes_nothing(tried: Tried) -> str | None:
    return same_step(tried.runs)


@of_the_mend
def trains_one_model(tried: Tried) -> str | None:
    """What a long run sees and those steps do not: rows and a step without a label."""
    for seed in SEEDS[:2]:
        healthy = Run(HEALTHY, seed)
        want, done = healthy.train(), healthy.weights()
        for size in (1, 8):
            run = tried.fresh(seed)
            got = run.train(size)
            given = f"trained with {size} row{'s' if size > 1 else ''} at a time"
            for step, (mine, right) in enumerate(zip(got, want, strict=True)):
                if not abs(mine - right) <= SAME_MODEL:
                    said = f"logs {mine:.4g} for {right:.4g} in step {step + 1}"
                    return f"{given} it {said}{_unlabelled(run, step)}"
            off = distance(run.weights(), done)
            if not off <= SAME_MODEL:
                return f"{given} its weights are off by {off:.2g}"
    return None


def _unlabelled(run: Run, step: int) -> str:
    rows = run.rows[step * BATCH_SIZE : (step + 1) * BATCH_SIZE]
    num = sum(not HEALTHY["count"]([row])["label"] for row in rows)
    return f", where {num} of {len(rows)} rows have no label" if num else ""
