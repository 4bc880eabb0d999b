"""What `inspect_batch` shows: the findings, the share of tokens in the loss, the tokens."""

from dataclasses import dataclass
from html import escape

from course_utils.diagnostics.batch_view import paint
from course_utils.diagnostics.batch_view.case import PAIRS, SCORES, TRAINING, Case, Finding
from course_utils.diagnostics.batch_view.tokens import BY_NONE, BatchView
from course_utils.shown import page
from course_utils.shown.page import State
from course_utils.shown.report import Report, Shown, Table
from course_utils.shown.wrap import wrapped

SHOWN = 8
LOOKED_FOR = {
    TRAINING: "missing, masked and cut-off ends, empty rows, BOS, padding, packing, the header",
    PAIRS: "missing, masked and cut-off ends, empty rows, BOS, padding",
    SCORES: "BOS, holes in the mask, padding",
    "generation": "padding side, mask, BOS, the header of the reply",
}


@dataclass(frozen=True)
class Tokens(Shown):
    """The rows of a batch, without any judgement."""

    view: BatchView
    num_shown: int

    def numbers(self, row: int, *, last: int | None = None) -> Table:
        """Id, label, mask, position and segment of each token of one row, or of its last ones."""
        cells = list(map(paint.numbers, *zip(*enumerate(self.view.rows[row].tokens), strict=True)))
        return Table(columns=("token", *paint.NUMBERS), rows=cells[-last:] if last else cells)

    def text(self) -> str:
        return "\n".join([paint.LEGEND, *paint.as_text(self.view, self.num_shown)])

    def html(self) -> str:
        return paint.as_html(self.view, self.num_shown)


@dataclass(frozen=True)
class BatchReport(Report):
    """The findings on one batch; `findings` holds faults first, then notes."""

    case: Case
    findings: tuple[Finding, ...]
    num_shown: int = SHOWN

    @property
    def faults(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.is_fault)

    @property
    def is_healthy(self) -> bool:
        return not self.faults

    @property
    def state(self) -> State:
        return State.PLAIN if self.is_healthy else State.BAD

    @property
    def headline(self) -> str:
        if self.faults:
            more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
            return f"{self.faults[0].name}: {self.faults[0].saw}{more}"
        looked = f"looked for {LOOKED_FOR[self.case.kind]}"
        return f"nothing found in {of_rows(self.case.view)}; {looked}"

    @property
    def cause(self) -> str:
        return self.faults[0].cause if self.faults else ""

    @property
    def fix(self) -> str:
        return self.faults[0].fix if self.faults else ""

    @property
    def share_learnt(self) -> float | None:
        """The share of attended tokens that are in the loss; None if none can be."""
        view = self.case.view
        return None if view.learnt_by == BY_NONE else view.num_learnt / max(view.num_tokens, 1)

    @property
    def tokens(self) -> Tokens:
        """The tokens alone, for a reader who wants to find the fault herself."""
        return Tokens(self.case.view, self.num_shown)

    @property
    def _sums(self) -> str:
        view = self.case.view
        counted = f"{of_rows(view)}, {view.num_tokens} tokens"
        if view.learnt_by == BY_NONE:
            return f"{counted}; no labels, as is usual for {self.case.kind}"
        return f"{counted}, {view.num_learnt} ({self.share_learnt:.0%}) in the loss"

    def table(self) -> Table:
        kinds = {True: "fault", False: "note"}
        rows = [(kinds[f.is_fault], f.name, f.saw, _some(f.rows)) for f in self.findings]
        return Table(columns=("", "found", "what was seen", "rows"), rows=rows)

    def text(self) -> str:
        lines = [wrapped(self.headline), self._sums]
        lines += [self.table().text()] if self.findings else []
        return "\n".join([*lines, self.tokens.text(), *map(wrapped, self._advice())])

    def html(self) -> str:
        table = self.table().html() if self.findings else ""
        advice = page.lines(tuple(self._advice()))
        body = f"<div>{escape(self._sums)}</div>{table}{self.tokens.html()}{advice}"
        return page.box(self.state, self.headline, body)

    def to_dict(self) -> dict:
        return {
            "kind": self.case.kind,
            "share_learnt": self.share_learnt,
            "findings": [
                {"name": f.name, "fault": f.is_fault, "saw": f.saw, "rows": list(f.rows)}
                for f in self.findings
            ],
        }


def of_rows(view: BatchView) -> str:
    return "1 row" if len(view.rows) == 1 else f"{len(view.rows)} rows"


def _some(rows: tuple[str, ...]) -> str:
    more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    return ", ".join(rows[:3]) + more
