"""Outcomes of several GRPO runs that differ in one setting each. Trains, never judges."""

import math
from dataclasses import dataclass

from course_utils.reproductions.lesson_04.verl_grpo import VerlGrpo
from course_utils.shown.report import Table

MIN_GAIN = 0.1  # of the probability of the right reply; a healthy run gains about twice it
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
    first_score: float  # probability of the right reply to held-out sums, before and after
    last_score: float

    @classmethod
    def of(cls, run: VerlGrpo, *, first_score: float | None = None) -> "Outcome":
        """Read a trained run; give `first_score` if its reference has been evaluated already."""
        bad = [u for u in run.updates if not math.isfinite(u["actor/grad_norm"])]
        return cls(
            num_updates=len(run.updates),
            num_bad=len(bad),
            num_skipped=sum(not update["stepped"] for update in run.updates),
            is_dead=not all(p.isfinite().all() for p in run.actor.parameters()),
            first_score=run.evaluate(run.reference) if first_score is None else first_score,
            last_score=run.evaluate(),
        )

    @property
    def gain(self) -> float:
        return self.last_score - self.first_score

    @property
    def words(self) -> tuple[str, ...]:
        """One word for each of COLUMNS."""
        reward = "gone" if self.is_dead else "rises" if self.gain > MIN_GAIN else "stays"
        return (
            "nan" if self.num_bad else "finite",
            "skipped" if self.num_skipped else "all taken",
            "dead" if self.is_dead else "alive",
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
            rows.append((name, bad, str(outcome.num_skipped), outcome.words[2], score))
        columns = ("run", "updates with nan", "skipped", "weights", "held-out sums right")
        return Table(columns=columns, rows=rows)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def outcomes_of(settings: dict[str, dict], *, num_steps: int, **common: object) -> Outcomes:
    """Train each named set of changes for `num_steps` rollouts, all from the same seed.

    >>> tiny = dict(num_prompts=2, n=2, response_length=5, device="cpu")
    >>> outcomes_of({"as it is": {}}, num_steps=1, **tiny)["as it is"].num_updates
    1
    """
    outcomes, first_score = {}, None
    for name, changes in settings.items():
        run = VerlGrpo(**common | changes)
        run.train(num_steps)
        outcomes[name] = Outcome.of(run, first_score=first_score)
        first_score = outcomes[name].first_score  # that of the reference, the same for all
    return Outcomes(outcomes)
