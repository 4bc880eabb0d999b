"""The report of `diagnose`: the likeliest cause first, all else on request."""

from dataclasses import dataclass, field, replace
from typing import Any

from course_utils.causes.schema import SCHEMA
from course_utils.diagnostics.diagnosis.report.consequences import (
    consequences,
    not_reassuring,
    would_reassure,
)
from course_utils.diagnostics.diagnosis.report.details import Details, block, items, pairs
from course_utils.diagnostics.diagnosis.report.fixes import with_own_values
from course_utils.diagnostics.diagnosis.report.layout import (
    FINE,
    MORE,
    beside_it,
    first_cause,
    one_line,
    opening,
    other_causes,
    perhaps,
)
from course_utils.diagnostics.diagnosis.report.next_looks import next_looks
from course_utils.diagnostics.diagnosis.report.one_cause import as_dict, evidence, see
from course_utils.diagnostics.diagnosis.report.ranking import in_order
from course_utils.diagnostics.diagnosis.report.refuted import not_refuted
from course_utils.diagnostics.diagnosis.report.without_repeats import (
    facts,
    is_told,
    not_told,
    told_once,
)
from course_utils.diagnostics.diagnosis.sheet.finding import Found, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import NOT_FINITE, harm_of
from course_utils.diagnostics.diagnosis.sheet.unexplained import unexplained
from course_utils.diagnostics.libraries.versions import how_many
from course_utils.shown import page
from course_utils.shown.page import State
from course_utils.shown.report import Report, Table
from course_utils.shown.wrap import wrapped

MAX_CAUSES = 3
ORDER = "Ordered by how directly it was seen, then by how much else it explains."
NOTHING = "nothing could be looked at"
LISTS = ("doubts", "rows", "moved", "look_next")
# The titles of what stands beside the causes, and the attributes that hold it.
BESIDE = {
    "not explained by this": "unexplained",
    "checked and fine": "checked",
    "counted, and neither good nor bad": "shown",
    "settings": "settings",
    "not seen": "unseen",
}


@dataclass(frozen=True)
class Diagnosis(Report):
    """A diagnosis. `causes` is ordered, the likeliest first; it is empty on a healthy run.

    The numbers that follow from a cause stand with it, in its `follows`, and nowhere else.
    """

    what: str  # "SFTTrainer", "a folder", ...
    causes: tuple[Found, ...]
    checked: dict[str, str]  # what was judged and is fine -> its number
    unseen: dict[str, str]  # what was not looked at -> why
    shown: dict[str, str] = field(default_factory=dict)  # what was counted and not judged
    settings: dict[str, str] = field(default_factory=dict)  # of the run, those that matter
    unexplained: tuple[str, ...] = ()  # what is odd, and no cause here accounts for
    no_faults: tuple[Found, ...] = ()  # what only looks like a fault
    doubts: tuple[str, ...] = ()  # why "nothing found" would be no all-clear
    rows: tuple[str, ...] = ()  # what the first rows hold, and what is learnt of them
    first_loss: str = ""  # of the run, beside that of guessing
    loss_now: str = ""  # of the model as it is, where the run's first loss is not known
    moved: tuple[str, ...] = ()  # the share of the weights that a step moves, by group
    look_next: tuple[str, ...] = ()
    ended: str = ""  # the error that ended the run
    values: dict[str, Any] = field(default_factory=dict, repr=False)  # of the settings
    unreadable: tuple[str, ...] = ()  # by library, how many looks cannot read its version

    @classmethod
    def of(cls, what: str, sheet: Sheet) -> "Diagnosis":
        """Order what a sheet holds: what is fine for itself calms nobody about a cause."""
        causes, checked, shown = [], dict(sheet.cleared), dict(sheet.shown)
        no_faults = list(sheet.healthy)
        if NOT_FINITE in sheet.outcomes and "weights" in checked:
            shown["weights before the run"] = checked.pop("weights")
        for one in told_once(
            _with_hint(one, sheet.hints) for one in in_order(not_refuted(sheet.found, sheet))
        ):
            where = one.verdict.where
            for name in not_reassuring(one.key, checked, where):
                shown[name] = FINE.sub("", checked.pop(name))
            no_faults = [f for f in no_faults if not would_reassure(f.key, one.key, where)]
            harm = harm_of(one.key, one.verdict, sheet.outcomes)
            follows = consequences(one.key, shown, where)
            no_sign = sheet.usual | set(sheet.cleared)
            follows = {name: said for name, said in follows.items() if name not in no_sign}
            shown = {name: said for name, said in shown.items() if name not in follows}
            new = {k: v for k, v in follows.items() if not is_told(v, facts(harm.number))}
            said = tuple((name, FINE.sub("", number)) for name, number in new.items())
            advice = with_own_values(one, sheet.values, sheet.outcomes)
            causes.append(replace(one, follows=said, harm=harm, advice=advice))
        shown = not_told(shown, causes)
        return cls(
            what=what,
            causes=tuple(causes),
            checked=checked,
            unseen=dict(sheet.unseen),
            shown=shown,
            settings=dict(sheet.settings),
            unexplained=unexplained(sheet.odd, {one.key for one in causes}),
            no_faults=tuple(no_faults),
            doubts=tuple(sheet.doubts),
            rows=tuple(sheet.rows),
            first_loss=sheet.first_loss,
            loss_now=sheet.loss_now,
            moved=tuple(sheet.moved),
            look_next=next_looks(sheet),
            ended=sheet.ended,
            values=dict(sheet.values),
            unreadable=how_many(v for k, v in sheet.unreadable.items() if k in sheet.unseen),
        )

    @property
    def is_healthy(self) -> bool:
        """Nothing was found, something was looked at, and no look failed."""
        return not self.causes and bool(self.checked) and not self.doubts

    @property
    def state(self) -> State:
        if self.causes:
            return State.BAD
        return State.GOOD if self.is_healthy else State.ALARM

    @property
    def headline(self) -> str:
        if not self.causes:
            return "; ".join([*self.unreadable, self._without_causes])
        first = self.causes[0]
        where = f" ({first.place})" if first.place else ""
        return f"{perhaps(first)}{first.says}{where}: {first.said[0]}"

    @property
    def _without_causes(self) -> str:
        if self.doubts:
            return f"no cause found, and no all-clear: {self.doubts[0]}"
        looked = "; ".join(pairs(self.checked))
        return f"nothing found; looked at {looked}" if looked else NOTHING

    @property
    def cause(self) -> str:
        return self.causes[0].says if self.causes else ""

    @property
    def fix(self) -> str:
        return self.causes[0].fix if self.causes else ""

    def table(self) -> Table:
        """The causes with their consequences, then the rest, by how it was judged."""
        rows = []
        for n, one in enumerate(self.causes[:MAX_CAUSES], start=1):
            rows.append((f"cause {n}", one.says, evidence(one), see(one)))
            rows += [(f"consequence of {n}", name, number, "") for name, number in one.follows]
        rows += [("no fault", one.says, "; ".join(one.said), "") for one in self.no_faults]
        for title, name in BESIDE.items():
            held = getattr(self, name)
            rows += [(title, *pair, "") for pair in _named(held)]
        notes = (*self.unreadable, *([ORDER] if len(self.causes) > 1 else []))
        return Table(columns=("", "what", "numbers", "see"), rows=rows, notes=notes)

    def text(self) -> str:
        """The first cause in eight lines, or what a reader would look at first."""
        lines = self._found() if self.causes else self._not_found()
        return "\n".join([*self.unreadable, *lines])

    def _found(self) -> list[str]:
        first, *others = self.causes
        lines = first_cause(self.what, first, self.values)
        lines += beside_it(first) + other_causes(one for one in others if one.is_sure)
        lines += [wrapped(f"Not explained by this: {odd}.") for odd in self.unexplained[:1]]
        return [*lines, *one_line("Not looked at", self.unseen), MORE]

    def _not_found(self) -> list[str]:
        healthy = f"{self.what}: nothing found" if self.is_healthy else ""
        lines = [healthy or f"{self.what}: {self._without_causes}", *self.doubts[1:], *self.rows]
        lines += [f"First loss: {self.first_loss}"] if self.first_loss else []
        lines += [f"The model's own loss: {self.loss_now}"] if self.loss_now else []
        lines += [f"Moved by a step: {', '.join(self.moved)}"] if self.moved else []
        lines += items("Look next", self.look_next)
        return [*map(wrapped, lines), *one_line("Not looked at", self.unseen), MORE]

    @property
    def details(self) -> Details:
        """Every cause with all of its evidence, and all that was looked at."""
        lines = [f"{self.what}: {self.headline}"]
        for number, one in enumerate(self.causes, start=1):
            lines += block(number, one, self.values)
        lines += items("no fault", (f"{f.says}: {'; '.join(f.said)}" for f in self.no_faults))
        for title, name in BESIDE.items():
            held = getattr(self, name)
            lines += items(title, pairs(held) if isinstance(held, dict) else held)
        return Details(tuple(lines))

    def html(self) -> str:
        """The short report, with the details folded below it."""
        lines = self._found() if self.causes else self._not_found()
        title = opening(self.what, self.causes[0]) if self.causes else lines[0]
        body = (*self.unreadable, *lines[len(wrapped(title).split("\n")) : -1])
        folded = f"<details><summary>details</summary>{self.table().html()}</details>"
        return page.box(self.state, title, page.preformatted(body) + folded)

    def to_dict(self) -> dict:
        return {
            "schema": SCHEMA,
            "what": self.what,
            "nothing_found": self.is_healthy,
            "headline": self.headline,
            "ended": self.ended,
            "causes": [as_dict(one) for one in self.causes],
            **{name: _plain(getattr(self, name)) for name in BESIDE.values()},
            "unreadable": list(self.unreadable),
            "no_faults": [one.key for one in self.no_faults],
            **{name: _plain(getattr(self, name)) for name in LISTS},
            "first_loss": self.first_loss,
            "loss_now": self.loss_now,
        }


def _with_hint(one: Found, hints: dict[str, tuple[str, ...]]) -> Found:
    """A cause that a log alone has found, with the mechanism that another look saw."""
    if one.why or one.key not in hints:
        return one
    why, fix, *specimen = hints[one.key]
    return replace(one, why=why, advice=fix, specimen=one.specimen or tuple(specimen))


def _named(held: dict[str, str] | tuple[str, ...]) -> list[tuple[str, str]]:
    return list(held.items()) if isinstance(held, dict) else [(one, "") for one in held]


def _plain(held: dict[str, str] | tuple[str, ...]) -> dict | list:
    return dict(held) if isinstance(held, dict) else list(held)
