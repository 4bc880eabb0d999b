"""The report of `diagnose`: the likeliest cause, what follows from it, and what is fine."""

from dataclasses import dataclass, field, replace

from course_utils.diagnostics.diagnosis.report.consequences import (
    consequences,
    not_reassuring,
    would_reassure,
)
from course_utils.diagnostics.diagnosis.report.fixes import with_own_values
from course_utils.diagnostics.diagnosis.report.layout import (
    FINE,
    block,
    items,
    notebook,
    opening,
    pairs,
    perhaps,
)
from course_utils.diagnostics.diagnosis.report.ranking import in_order
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
from course_utils.shown.page import Link, State
from course_utils.shown.report import Report, Table
from course_utils.shown.wrap import wrapped

MAX_CAUSES = 3
ORDER = "Ordered by how directly it was seen, then by how much else it explains."
# The titles of what stands beside the causes, and the attributes that hold it.
BESIDE = {
    "not explained by this": "unexplained",
    "checked and fine": "checked",
    "counted, not judged": "shown",
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
    unreadable: tuple[str, ...] = ()  # by library, how many looks cannot read its version

    @classmethod
    def of(cls, what: str, sheet: Sheet) -> "Diagnosis":
        """Order what a sheet holds: what is fine for itself calms nobody about a cause."""
        causes, checked, shown = [], dict(sheet.cleared), dict(sheet.shown)
        no_faults = list(sheet.healthy)
        if NOT_FINITE in sheet.outcomes and "weights" in checked:
            shown["weights before the run"] = checked.pop("weights")
        for one in told_once(_with_hint(one, sheet.hints) for one in in_order(sheet.found)):
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
            unreadable=how_many(v for k, v in sheet.unreadable.items() if k in sheet.unseen),
        )

    @property
    def is_healthy(self) -> bool:
        """Nothing was found and something was looked at."""
        return not self.causes and bool(self.checked)

    @property
    def state(self) -> State:
        if self.causes:
            return State.BAD
        return State.GOOD if self.checked else State.ALARM

    @property
    def headline(self) -> str:
        if not self.causes:
            looked = "; ".join(pairs(self.checked))
            said = f"nothing found; looked at {looked}" if looked else "nothing could be looked at"
            return "; ".join([*self.unreadable, said])
        first = self.causes[0]
        where = f" ({first.place})" if first.place else ""
        return f"{perhaps(first)}{first.says}{where}: {first.said[0]}"

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
            rows.append((f"cause {n}", one.says, _evidence(one), _see(one)))
            rows += [(f"consequence of {n}", name, number, "") for name, number in one.follows]
        rows += [("no fault", one.says, "; ".join(one.said), "") for one in self.no_faults]
        for title, name in BESIDE.items() if self.causes else [("not seen", "unseen")]:
            held = getattr(self, name)
            rows += [(title, *pair, "") for pair in _named(held)]
        notes = (*self.unreadable, *([ORDER] if len(self.causes) > 1 else []))
        return Table(columns=("", "what", "numbers", "see"), rows=rows, notes=notes)

    def text(self) -> str:
        """One sentence; the causes one after the other; then one item a line."""
        lines = [*self.unreadable]
        lines += opening(self.what, self.causes, has_looked=bool(self.checked))
        for number, one in enumerate(self.causes[:MAX_CAUSES], start=1):
            lines += block(number, one)
        lines += items("no fault", (f"{f.says}: {'; '.join(f.said)}" for f in self.no_faults))
        for title, name in BESIDE.items():
            held = getattr(self, name)
            lines += items(title, pairs(held) if isinstance(held, dict) else held)
        return "\n".join(map(wrapped, lines))

    def _advice(self) -> list[str]:
        advice = super()._advice()
        if self.causes:
            first, cause = self.causes[0], self.causes[0].cause
            advice.insert(0, f"in {first.verdict.where}; harm: {first.harm}")
            advice += [f"lesson: {notebook(cause.lesson)}"] if cause.lesson else []
        return advice

    def to_dict(self) -> dict:
        return {
            "what": self.what,
            "healthy": self.is_healthy,
            "causes": [_as_dict(one) for one in self.causes],
            **{name: _plain(getattr(self, name)) for name in BESIDE.values()},
            "unreadable": list(self.unreadable),
            "no_faults": [one.key for one in self.no_faults],
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


def _as_dict(one: Found) -> dict:
    return {
        "key": one.key,
        "cause": one.says,
        "fix": one.fix,
        "where": one.verdict.where,
        "harm": one.harm.says,
        "harm_measured": one.harm.number,
        "sure": one.is_sure,
        "rivals": one.rivals,
        "place": one.place,
        "said": list(one.said),
        "against": list(one.against),
        "specimen": list(one.specimen),
        "consequences": dict(one.follows),
        "basis": one.basis,
        "weight": one.weight,
        "lesson": one.cause.lesson,
        "instrument": one.cause.instrument,
    }


def _evidence(one: Found) -> str:
    against = tuple(f"against it: {said}" for said in one.against)
    return "; ".join([f"{one.basis}: {one.said[0]}", *one.said[1:], *one.specimen, *against])


def _see(one: Found) -> str:
    said = one.cause.instrument
    if not one.cause.lesson:
        return said
    lesson = Link(f"lesson {one.cause.lesson[:2]}", to=f"{one.cause.lesson}.ipynb")
    return Link(f"{lesson}, {said}", to=lesson.to) if said else lesson
