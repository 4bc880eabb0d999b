"""The observations behind exercise 08.8: the diagnosis, and runs made with its fix."""

import functools
from collections.abc import Callable, Iterator

from torch import Tensor

from course_utils.checks.broken_script import Diagnosis, Variant, of_the_mend
from course_utils.checks.input_fingerprint import Fingerprint, changed, fingerprint
from course_utils.checks.settings import OverSeeds, over_seeds
from course_utils.checks.watched_calls import InputsChanged, describe
from course_utils.diagnostics.splits.judging import distance
from course_utils.reproductions.lesson_08.unseen_08 import BATCH_SIZE, HEALTHY, NUM_STEPS, Run

SEEDS = (3, 4, 5)
SAME, SAME_MODEL = 1e-5, 1e-3


class Tried(Diagnosis):
    """A diagnosis, and the runs made with its mend."""

    def __init__(self, unseen: dict, variant: Variant) -> None:
        super().__init__(unseen, variant)
        if self.place == "count":
            self.fix = _keeps_the_rows(self.fix)
        self.runs = OverSeeds(self.fresh, SEEDS)

    def no_loss(self) -> str | None:
        """What prevents the loop from calling .backward() on what `divide` returns."""
        if self.place != "divide":
            return None
        run = Run(HEALTHY, SEEDS[0])
        sums, counts = run.sums(run.rows[:2]), HEALTHY["count"](run.rows[:2])
        got = self.fix(sums, dict(counts), dict(counts), 1)
        if isinstance(got, Tensor) and got.dim() == 0 and got.requires_grad:
            return None
        return f"divide returns {describe(got)}; a 0-d tensor with its graph is needed"

    def fresh(self, seed: int) -> Run:
        return self.variant.ticket.fresh(seed, **{self.place: self.fix})


def _with_a_loss(observe: Callable) -> Callable:
    """A look at runs, which exist where the loop can learn from its loss."""

    @functools.wraps(observe)
    def look(tried: Tried) -> str | None:
        return tried.no_loss() or observe(tried)

    return look


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


def _differs(got: tuple[Tensor, float], want: tuple[Tensor, float], whose: str) -> str | None:
    off = distance(got[0], want[0])
    if not off <= SAME:
        ratio = float(got[0].norm() / want[0].norm().clamp(min=1e-30))
        return (
            f"the gradient differs from {whose} by {off:.2g} of its norm, and its norm is "
            f"{ratio:.3g} times the right one"
        )
    if not abs(got[1] - want[1]) <= SAME_MODEL:
        return (
            f"the gradient is {whose}, but the log says {got[1]:.4g} where {want[1]:.4g} is right"
        )
    return None


@over_seeds
def one_step_for_all(run: Run) -> str | None:
    for name, rows in _two_steps(run):
        whole = run.gradient([rows]), run.step([rows])
        for size in (4, 3, 1):
            micro = [rows[at : at + size] for at in range(0, len(rows), size)]
            mine = run.gradient(micro), run.step(micro)
            if seen := _differs(mine, whole, "that of all rows at once"):
                return f"in {name}, with at most {size} rows per micro-batch, {seen}"
    return None


@over_seeds
def the_right_step(run: Run) -> str | None:
    for name, rows in _two_steps(run):
        whole = run.gradient([rows]), run.step([rows])
        if seen := _differs(whole, _healthy(run, rows), "that of the two means"):
            return f"the split no longer matters, but in {name}, with all rows at once, {seen}"
    return None


@of_the_mend
@_with_a_loss
def cut_changes_nothing(tried: Tried) -> str | None:
    return one_step_for_all(tried.runs)


@of_the_mend
@_with_a_loss
def takes_two_means(tried: Tried) -> str | None:
    return the_right_step(tried.runs)


@of_the_mend
@_with_a_loss
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
                    said = f"logs {mine:.4g} where {right:.4g} is right, in step {step + 1}"
                    return f"{given} it {said}{_unlabelled(run, step)}"
            off = distance(run.weights(), done)
            if not off <= SAME_MODEL:
                return f"{given} its weights are off by {off:.2g}"
    return None


def _unlabelled(run: Run, step: int) -> str:
    rows = run.rows[step * BATCH_SIZE : (step + 1) * BATCH_SIZE]
    num = sum(not HEALTHY["count"]([row])["label"] for row in rows)
    have = "has" if num == 1 else "have"
    return f", where {num} of {len(rows)} rows {have} no label" if num else ""
