"""The report of the first non-finite number: what made it, where, and what it reached."""

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch

from course_utils.diagnostics.nonfinite.batches import num_rows
from course_utils.diagnostics.nonfinite.case import Case, Cause
from course_utils.diagnostics.nonfinite.causes import find_cause
from course_utils.diagnostics.nonfinite.events import Blame, Event
from course_utils.shown.page import State
from course_utils.shown.report import Report, Table

# Operations that put a constant somewhere; an inf among their arguments is what the code asked for.
WRITERS = {"fill", "full", "full_like", "new_full", "masked_fill", "index_fill", "scatter"} | {
    "constant_pad_nd",
    "scalar_tensor",
    "lift_fresh",
}


@dataclass(frozen=True)
class NonFiniteReport(Report):
    """The finding of `trace_step` or `watch`.

    `found` is False when nothing that was looked at (loss, gradients, weights) was inf or nan;
    `is_clear` says whether all of it was looked at. Printed, it ends with `cause:` and `fix:`.
    `origin` is the operation that is to blame; `became_nan` is the later operation that turned
    its inf into NaN, if there is one.
    """

    found: bool
    origin: Event | None = None
    became_nan: Event | None = None
    reached: str = ""  # "the loss", "the gradient of fc.weight", ...
    step: int | None = None  # optimizer step, counted from 1
    micro_batch: int | None = None  # within the step, counted from 1
    num_micro_batches: int | None = None  # of the step
    rows: tuple[int, ...] = ()  # of the batch, those to blame, counted from 0; () if not known
    batch: Any = field(default=None, repr=False, compare=False)  # a copy of the failing one
    examined: bool = True  # False: nothing was looked at, so there is nothing to say
    note: str = ""
    verdict: Cause | None = None

    @property
    def is_clear(self) -> bool:
        """Whether loss, gradients and weights were examined and all of them are finite."""
        return self.examined and not self.found

    @property
    def state(self) -> State:
        """The state on a page: a fault, the all-clear, or neither."""
        if self.found:
            return State.BAD
        return State.GOOD if self.is_clear else State.ALARM

    @property
    def cause(self) -> str:
        """The cause in one sentence; "" if nothing is wrong."""
        return self.verdict.why if self.verdict else ""

    @property
    def fix(self) -> str:
        """The fix in one sentence; "" if nothing is wrong."""
        return self.verdict.fix if self.verdict else ""

    @property
    def kind(self) -> str:
        """The class of the cause, in a few words that stay the same from run to run."""
        return self.verdict.kind if self.verdict else ""

    @property
    def phase(self) -> str:
        """forward, backward, optimizer, or "already in the input / the weights / ..."."""
        return self.origin.phase if self.origin else ""

    @property
    def operation(self) -> str:
        return self.origin.operation if self.origin else ""

    @property
    def module(self) -> str:
        return self.origin.module if self.origin else ""

    @property
    def dtype(self) -> torch.dtype | None:
        return self.origin.dtype if self.origin else None

    @property
    def largest_input(self) -> float | None:
        return self.origin.largest_input if self.origin else None

    @property
    def limit(self) -> float | None:
        return self.origin.limit if self.origin else None

    @property
    def line(self) -> str:
        """The source line: the innermost one outside torch."""
        return str(self.origin.places.line or "") if self.origin else ""

    @property
    def headline(self) -> str:
        if self.origin is None:
            return self.note
        when = f"Step {self.step}, " if self.step is not None else ""
        sentences = [f"{when}{_say(self.origin)}."]
        if self.became_nan is not None:
            sentences.append(f"It became nan later: {_say(self.became_nan)}.")
        if self.reached:
            sentences.append(f"It reached {self.reached}.")
        text = " ".join(filter(None, [*sentences, self.note]))
        return text[0].upper() + text[1:]

    def table(self) -> Table:
        events = [("first non-finite", self.origin), ("became nan", self.became_nan)]
        events = [(title, _facts(event)) for title, event in events if event is not None]
        names = list(_facts(self.origin)) if self.origin else []
        rows = [(name, *(facts[name] for _, facts in events)) for name in names]
        rows = [row for row in rows if any(row[1:])]
        columns = ["what", *(title for title, _ in events)] if events else ["what", "input"]
        blank = [""] * (len(columns) - 2)
        rows += [(name, text, *blank) for name, text in self._which_input()]
        return Table(columns=tuple(columns), rows=rows)

    def _which_input(self) -> list[tuple[str, str]]:
        of = f" of {self.num_micro_batches}" if self.num_micro_batches else ""
        micro_batch = [("micro-batch", f"{self.micro_batch}{of}")] if self.micro_batch else []
        if not self.rows:
            return micro_batch
        size = num_rows(self.batch)
        some = "all" if len(self.rows) == size else ", ".join(map(str, self.rows))
        return [*micro_batch, ("rows of the batch", f"{some} of {size}, from 0")]

    def to_dict(self) -> dict:
        return {
            "found": self.found,
            "examined": self.examined,
            "headline": self.headline,
            "kind": self.kind,
            "cause": self.cause,
            "fix": self.fix,
            "rows": list(self.rows),
            "step": self.step,
            "micro_batch": self.micro_batch,
            "reached": self.reached,
            "origin": _as_data(self.origin),
            "became_nan": _as_data(self.became_nan),
            "note": self.note,
        }


def make_report(blame: Blame, *, around: Case, **details) -> NonFiniteReport:
    """The report of a fault whose trail was followed; `around` describes the run around it."""
    case = replace(around, origin=blame.origin, became_nan=blame.became_nan)
    return NonFiniteReport(
        found=True,
        origin=blame.origin,
        became_nan=blame.became_nan,
        batch=around.batch,
        verdict=find_cause(case),
        **details,
    )


def _where(event: Event) -> str:
    return f"backward of {event.node}" if event.node else event.phase


def _say(event: Event) -> str:
    kind = "nan" if event.out.has_nan else "inf" if event.out.num_inf else "-inf"
    if not event.is_operation:
        name = f" `{event.module}`" if event.module else ""
        return f"{kind} was {event.phase}{name} ({event.out.num_nan} nan, {_num_inf(event)} inf)"
    what = event.sentence or f"{event.operation} gave {kind}"
    if event.is_written and event.operation in WRITERS:
        what = f"{event.operation} wrote {kind}, as the code asked"
    preposition = "on" if event.phase == "optimizer" else "in"
    module = f" {preposition} {event.module}" if event.module else ""
    return f"{_where(event)}{module}: {what}"


def _num_inf(event: Event) -> int:
    return event.out.num_inf + event.out.num_neg_inf


def _facts(event: Event) -> dict[str, str]:
    """The rows of the table: everything that an issue about a broken run asks for."""
    facts = {
        "phase": _where(event),
        "operation": event.operation,
        "module": event.module or ("(outside any module)" if event.is_operation else ""),
        "dtype": str(event.dtype).removeprefix("torch."),
        "largest input": f"{event.largest_input:.4g}",
        "its limit": f"{event.limit:.4g}",
        "put out": f"{event.out.num_nan} nan, {_num_inf(event)} inf of {event.out.numel}",
        "line": str(event.places.line or ""),
        "called from": str(event.places.caller or ""),
    }
    if facts["called from"] == facts["line"]:
        facts["called from"] = ""
    return facts


def _as_data(event: Event | None) -> dict | None:
    if event is None:
        return None
    return {
        **{name: getattr(event, name) for name in ("operation", "phase", "module", "node")},
        "dtype": str(event.dtype).removeprefix("torch."),
        "largest_input": event.largest_input if math.isfinite(event.largest_input) else None,
        "limit": event.limit,
        "out": asdict(event.out),
        "sentence": event.sentence,
        "line": str(event.places.line or ""),
        "caller": str(event.places.caller or ""),
    }
