"""The records of all ranks, judged together: which one went bad first, and what to do."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path

from course_utils.diagnostics.ranks.folder import Record, read_records
from course_utils.errors import BadRequest
from course_utils.shown.report import Report, Table

OWN = ("loss", "gradient", "weights before the step")
SAY = {
    "loss": "its own loss was {loss}",
    "gradient": "its own gradient was not finite, its loss was",
    "weights before the step": "weights were not finite before this step",
    "another rank": "its own numbers were finite until the ranks were summed",
}
LIMITS = (
    "Looked at: the loss of each micro-batch, each rank's gradient before the sum and after it. "
    "Not looked at: the weights, unless something was found, and steps of other optimizers."
)


def read_ranks(folder: str | Path) -> "RanksReport":
    """Read the records of `watch_ranks`, while the run goes on or after it died.

    Raises:
        BadRequest: there is no record in the folder.
    """
    records = read_records(Path(folder))
    if not records:
        raise BadRequest(
            f"there is no record of any rank in {str(folder)!r}",
            why="each rank writes rank0.json and so on when its watch begins",
            fix="wrap the training on every rank: with watch_ranks(trainer, folder=...): ...",
        )
    return RanksReport(tuple(records), str(folder))


@dataclass(frozen=True)
class RanksReport(Report):
    """The observations of each rank; `first` is the one to blame, None if none blames itself."""

    records: tuple[Record, ...]
    folder: str

    @property
    def found(self) -> bool:
        return any(record.what for record in self.records)

    @property
    def guilty(self) -> list[Record]:
        """The ranks whose own numbers were bad, the earliest first."""
        own = [record for record in self.records if record.what in OWN]
        return sorted(own, key=lambda r: (r.step, r.micro_batch or math.inf, r.time))

    @property
    def first(self) -> Record | None:
        return next(iter(self.guilty), None)

    @property
    def world(self) -> int:
        return self.records[0].world

    @property
    def silent(self) -> list[int]:
        """Ranks without a record, and those whose watch never ended."""
        known = {record.rank: record for record in self.records}
        ended = {rank for rank, r in known.items() if r.state != "watching" or r.what}
        return [rank for rank in range(self.world) if rank not in ended]

    @property
    def headline(self) -> str:
        if self.first is not None:
            return self._say_first(self.first)
        if self.found:
            bad = next(record for record in self.records if record.what)
            if missing := [r for r in self.silent if r != bad.rank]:
                return (
                    f"At step {bad.step} another rank than {bad.rank} went bad, and "
                    f"{_ranks(missing)} left no word of it."
                )
            return (
                f"At step {bad.step} each rank's own gradient was finite, and the sum of all, or "
                "what was done to it before the step, was not."
            )
        steps = min(record.num_steps for record in self.records)
        if not steps:
            return f"Nothing was examined: {self._say_unseen()}."
        still = f" {_ranks(self.silent).capitalize()} has not ended." if self.silent else ""
        return (
            f"{steps} steps on {len(self.records)} of {self.world} ranks: every loss and gradient "
            f"that was looked at was finite.{still}"
        )

    def _say_unseen(self) -> str:
        unseen = [record for record in self.records if not record.num_steps]
        where = _ranks([record.rank for record in unseen])
        if any(record.num_foreign for record in unseen):
            return f"the optimizer that stepped holds none of the model's parameters on {where}"
        if not any(record.num_losses for record in unseen):
            return f"no loss with a graph came by on {where}"
        return f"no optimizer step was seen on {where}"

    def _say_first(self, first: Record) -> str:
        when = f"step {first.step}"
        when += f", micro-batch {first.micro_batch}" if first.micro_batch else ""
        at = (first.micro_batch or 1) - 1
        loss = first.losses[at] if at < len(first.losses) else math.nan
        same = [r.rank for r in self.guilty[1:] if r.step == first.step]
        also = f" So was {_ranks(same)} in that step." if same else ""
        return f"Rank {first.rank} went bad first, at {when}: {SAY[first.what]}.{also}".format(
            loss=loss
        )

    @property
    def cause(self) -> str:
        first = self.first
        if first is None:
            if not self.found:
                return ""
            return "a sum in a 16-bit format overflows, or a rank that left no record had the nan"
        if first.bad_weights:
            num = len(first.bad_weights)
            return (
                f"{num} weights ({first.bad_weights[0]} first) were bad before the step: the "
                "optimizer step before it, or the checkpoint, made them"
            )
        if first.odd:
            return f"rank {first.rank}'s batch: {'; '.join(first.odd)}"
        if first.what == "gradient":
            return f"the backward pass of rank {first.rank} alone; its loss was finite"
        return f"the forward pass of rank {first.rank} on its own batch"

    @property
    def fix(self) -> str:
        first = self.first
        if first is None:
            if not self.found:
                return ""
            return "sum gradients in float32, and start the watch on every rank"
        if not first.dump:
            return f"nothing was dumped ({first.problem or 'the rank ended before'}): watch again"
        dump = f"{self.folder}/{first.dump}"
        return (
            "start your script as one process, and in place of training: "
            "from course_utils.diagnostics.ranks import replay_rank; "
            f'print(replay_rank("{dump}", trainer))'
        )

    def table(self) -> Table:
        rows = [
            (str(r.rank), r.state, str(r.num_steps), SAY[r.what].format(loss=_last(r)), r.how)
            if r.what
            else (str(r.rank), r.state, str(r.num_steps), "nothing", r.how)
            for r in self.records
        ]
        notes = [
            f"rank {r.rank}: the watch stopped: {r.problem}" for r in self.records if r.problem
        ]
        notes += [] if self.found else [LIMITS]
        columns = ("rank", "watch", "steps", "found", "its own gradient")
        return Table(columns=columns, rows=rows, notes=tuple(notes))

    def to_dict(self) -> dict:
        return {
            "headline": self.headline,
            "found": self.found,
            "first": self.first.rank if self.first else None,
            "cause": self.cause,
            "fix": self.fix,
            "ranks": [asdict(record) for record in self.records],
        }


def _last(record: Record) -> float:
    bad = [loss for loss in record.losses if not math.isfinite(loss)]
    return bad[0] if bad else (record.losses or [math.nan])[-1]


def _ranks(numbers: list[int]) -> str:
    names = ", ".join(map(str, numbers))
    return f"rank{'s' if len(numbers) > 1 else ''} {names}"
