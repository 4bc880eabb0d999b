"""What `diagnose` says: the likeliest cause first, what was ruled out, what was not seen."""

from dataclasses import dataclass
from pathlib import Path

from course_utils.diagnostics.diagnosis.finding import Found, Sheet
from course_utils.diagnostics.diagnosis.ranking import ranked
from course_utils.page import Link, State
from course_utils.report import Report, Table
from course_utils.wrap import wrapped

MAX_CAUSES = 3
ORDER = "Ordered by how directly it was seen, then by how much else it explains."


@dataclass(frozen=True)
class Diagnosis(Report):
    """A diagnosis. `causes` is ordered, the likeliest first; it is empty on a healthy run."""

    what: str  # "SFTTrainer", "a folder", ...
    causes: tuple[Found, ...]
    ruled_out: dict[str, str]  # what was looked at -> the number that clears it
    unseen: dict[str, str]  # what was not looked at -> why
    no_faults: tuple[Found, ...] = ()  # what only looks like a fault

    @classmethod
    def of(cls, what: str, sheet: Sheet) -> "Diagnosis":
        return cls(
            what,
            ranked(sheet.found),
            dict(sheet.cleared),
            dict(sheet.unseen),
            tuple(sheet.healthy),
        )

    @property
    def is_healthy(self) -> bool:
        """Nothing was found and something was looked at."""
        return not self.causes and bool(self.ruled_out)

    @property
    def state(self) -> State:
        if self.causes:
            return State.BAD
        return State.GOOD if self.ruled_out else State.ALARM

    @property
    def headline(self) -> str:
        if not self.causes:
            looked = "; ".join(f"{what}: {number}" for what, number in self.ruled_out.items())
            return f"nothing found; looked at {looked}" if looked else "nothing could be looked at"
        first = self.causes[0]
        where = f" ({first.place})" if first.place else ""
        return f"{first.says}{where}: {first.said[0]}"

    @property
    def cause(self) -> str:
        return self.causes[0].says if self.causes else ""

    @property
    def fix(self) -> str:
        return self.causes[0].fix if self.causes else ""

    def table(self) -> Table:
        """The causes, then what was ruled out, then what was not seen."""
        rows = [
            (f"cause {n}", one.says, self._evidence(one), _see(one))
            for n, one in enumerate(self.causes[:MAX_CAUSES], start=1)
        ]
        rows += [("no fault", one.says, "; ".join(one.said), "") for one in self.no_faults]
        if self.causes:
            rows += [("ruled out", what, number, "") for what, number in self.ruled_out.items()]
        rows += [("not seen", what, why, "") for what, why in self.unseen.items()]
        notes = (ORDER,) if len(self.causes) > 1 else ()
        return Table(columns=("", "what", "numbers", "see"), rows=rows, notes=notes)

    @staticmethod
    def _evidence(one: Found) -> str:
        against = tuple(f"against it: {said}" for said in one.against)
        return "; ".join([f"{one.basis}: {one.said[0]}", *one.said[1:], *against])

    def text(self) -> str:
        """The causes one after the other, each with its evidence; the rest in a paragraph each."""
        blocks = [self._block(n, one) for n, one in enumerate(self.causes[:MAX_CAUSES], start=1)]
        blocks = blocks or ["nothing found" if self.ruled_out else self.headline]
        blocks += [f"no fault: {one.says}: {'; '.join(one.said)}" for one in self.no_faults]
        for title, said in (("ruled out", self.ruled_out), ("not seen", self.unseen)):
            if said:
                blocks.append(
                    f"{title}: {'; '.join(f'{what} ({why})' for what, why in said.items())}"
                )
        return "\n".join(map(wrapped, [f"{self.what}:", *blocks]))

    @staticmethod
    def _block(number: int, one: Found) -> str:
        """A cause, where it is, what shows it, what to do."""
        where = f" ({one.place})" if one.place else ""
        lines = [f"{number}. {one.says}{where}", f"   {one.basis}: {one.said[0]}"]
        lines += [f"   {said}" for said in one.said[1:]]
        lines += [f"   against it: {said}" for said in one.against]
        lines.append(f"   fix: {one.fix}")
        lines += [f"   look next: {one.cause.look}"] if one.cause.look else []
        known = [notebook(one.cause.lesson)] if one.cause.lesson else []
        known += [one.cause.instrument] if one.cause.instrument else []
        return "\n".join([*lines, *([f"   see: {', '.join(known)}"] if known else [])])

    def _advice(self) -> list[str]:
        advice = super()._advice()
        if self.causes:
            first = self.causes[0].cause
            advice += [f"look next: {first.look}"] if first.look else []
            advice += [f"lesson: {notebook(first.lesson)}"] if first.lesson else []
        return advice

    def to_dict(self) -> dict:
        return {
            "what": self.what,
            "healthy": self.is_healthy,
            "causes": [
                {
                    "key": one.key,
                    "cause": one.says,
                    "fix": one.fix,
                    "place": one.place,
                    "said": list(one.said),
                    "against": list(one.against),
                    "basis": one.basis,
                    "weight": one.weight,
                    "lesson": one.cause.lesson,
                    "instrument": one.cause.instrument,
                }
                for one in self.causes
            ],
            "ruled_out": self.ruled_out,
            "unseen": self.unseen,
            "no_faults": [one.key for one in self.no_faults],
        }


def notebook(lesson: str) -> str:
    return str(Path("notebooks") / f"{lesson}.ipynb")


def _see(one: Found) -> str:
    said = one.cause.instrument
    if not one.cause.lesson:
        return said
    lesson = Link(f"lesson {one.cause.lesson[:2]}", to=f"{one.cause.lesson}.ipynb")
    return Link(f"{lesson}, {said}", to=lesson.to) if said else lesson
