"""Outcomes of several GRPO runs that differ in one setting each. Trains, never judges."""

import math
from dataclasses import dataclass

from course_utils.reproductions.lesson_04.verl_grpo import VerlGrpo
from course_utils.shown.report import Table

MIN_GAIN = 0.1  # of the share of right replies to held-out sums; a healthy run gains about twice it
COLUMNS = ("gradients", "updates", "weights", "reward")
MEANINGS = {  # of each word in these columns, as `plotting.draw_grid` takes them
    **dict.fromkeys(("finite", "all taken", "alive", "rises"), "alive"),
    **dict.fromkeys(("nan", "dead", "gone"), "dead"),
    **dict.fromkeys(("skipped", "stays"), "suspicious"),
}


@dataclass(frozen=True)
class Outcome:
    """One run in its links: gradient, update, weights, reward."""

    num_updates: int
    num_bad: int  # updates whose gradient norm was inf or nan
    num_skipped: int
    is_dead: bool
    first_score: float | None  # share of right replies to held-out sums, before and after;
    last_score: float | None  # None where nobody asked

    @classmethod
    def of(cls, run: VerlGrpo, *, held_out: bool = True) -> "Outcome":
        """Read a trained run; it answers the held-out sums only if that is wanted."""
        bad = [u for u in run.updates if not math.isfinite(u["actor/grad_norm"])]
        return cls(
            num_updates=len(run.updates),
            num_bad=len(bad),
            num_skipped=sum(not update["stepped"] for update in run.updates),
            is_dead=not all(p.isfinite().all() for p in run.actor.parameters()),
            first_score=run.evaluate(run.reference) if held_out else None,
            last_score=run.evaluate() if held_out else None,
        )

    @property
    def gain(self) -> float:
        return self.last_score - self.first_score

    @property
    def weights(self) -> str:
        return "dead" if self.is_dead else "alive"

    @property
    def words(self) -> tuple[str, ...]:
        """One word for each of COLUMNS."""
        reward = "gone" if self.is_dead else "rises" if self.gain > MIN_GAIN else "stays"
        return (
            "nan" if self.num_bad else "finite",
            "skipped" if self.num_skipped else "all taken",
            self.weights,
            reward,
        )


@dataclass(frozen=True)
class Outcomes:
    """Several runs by name."""

    runs: dict[str, Outcome]

    def __getitem__(self, name: str) -> Outcome:
        return self.runs[name]

    def table(self) -> Table:
        rows = []
        for name, outcome in self.runs.items():
            bad = f"{outcome.num_bad} of {outcome.num_updates}"
            score = f"{outcome.first_score:.2f} to {outcome.last_score:.2f}"
            rows.append((name, bad, str(outcome.num_skipped), outcome.weights, score))
        columns = ("run", "updates with nan", "skipped", "weights", "held-out sums right")
        return Table(columns=columns, rows=rows)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def outcomes_of(
    settings: dict[str, dict], *, num_steps: int, held_out: bool = True, **common: object
) -> Outcomes:
    """Train each named set of changes for `num_steps` rollouts, all from the same seed.

    Args:
        held_out: whether each then answers the held-out sums.

    >>> tiny = dict(num_prompts=2, n=2, response_length=5, device="cpu")
    >>> outcomes_of({"as it is": {}}, num_steps=1, **tiny)["as it is"].num_updates
    1
    """
    outcomes = {}
    for name, changes in settings.items():
        run = VerlGrpo(**common | changes)
        run.train(num_steps)
        outcomes[name] = Outcome.of(run, held_out=held_out)
    return Outcomes(outcomes)
