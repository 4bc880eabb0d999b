"""docs/stacks.md: what the instruments said on each stack."""

from collections import Counter
from dataclasses import astuple, dataclass

from benchmarks.markdown import table
from tests.stacks.beside import INSTRUMENTS
from tests.stacks.declare import OWN
from tests.stacks.pythons import Seen

KINDS = ("right", "wrong", "crashed", "cannot")
COLUMNS = ("stack", "cases", "right", "wrong", "crashed", "says that it cannot", "pip changed")
PYTHON_COLUMNS = (
    *("Python", "compiles without a warning", "`explain` answers", "tests of `explain`"),
)
SHOWN = "t451"  # the stack whose broken run the page shows
BROKEN_RUN = """\
from cases.sft import sft
from course_utils.diagnostics import diagnose

trainer = sft(is_masked=True)  # an SFTTrainer whose collator ignores every label
print(diagnose(trainer, steps=3))
"""


@dataclass(frozen=True)
class Outcomes:
    """What came of one stack.

    Args:
        installed: what `pip freeze` says after the instruments came.
        changed: what it says of other packages that it did not say before.
        cases: of each case, what `python -m cases --json` prints.
        shown: what `diagnose` prints about a broken run.
    """

    name: str
    what: str
    python: str
    on: str
    installed: list[str]
    changed: list[str]
    cases: list[dict]
    shown: str

    @property
    def counts(self) -> Counter:
        return Counter(case["kind"] for case in self.cases)

    @property
    def holds(self) -> bool:
        counts = self.counts
        return bool(counts["right"]) and not (counts["wrong"] or counts["crashed"] or self.changed)

    @property
    def unseen(self) -> dict[tuple[str, str], str]:
        """By case and look, why it could not look."""
        return {(c["case"], what): why for c in self.cases for what, why in c["unseen"].items()}

    def complaints(self) -> list[str]:
        """Each case that is not right, in a few lines."""
        return [
            f"  {case['kind']}: {case['case']}\n    expected {case['expected']}\n"
            f"    seen {case['seen']}"
            for case in self.cases
            if case["kind"] != "right"
        ]


def row(one: Outcomes) -> tuple[str, ...]:
    """Its row in the table."""
    counts = [str(one.counts[kind]) for kind in KINDS]
    return (one.what, str(len(one.cases)), *counts, ", ".join(one.changed) or "nothing")


def page(all_of_them: list[Outcomes], pythons: list[Seen]) -> str:
    """The whole page."""
    days = sorted({one.on for one in all_of_them})
    parts = [
        "# The instruments beside other versions of the libraries",
        "",
        "Made by `make stacks`. Each stack is an environment of its own, with the locked versions "
        "of `tests/stacks/locks/`. pip installs `brokenruns[diagnose]` into it, from a wheel of "
        "these sources, and must change no other package; in the course's own versions the sources "
        "run as they are. Then each case of `tests/stacks/cases/` "
        "runs there: a tiny run, healthy or broken, and what an instrument must say about it. "
        "*Wrong*: another first cause, or any cause on a healthy run. *Says that it cannot*: the "
        "error names the package to install. One seed, one tiny model, one thread, CPU, torch "
        f"{_version(all_of_them[0], 'torch')} in all: these are counts, not rates. Seen on "
        f"{' and '.join(days)}.",
        "",
        *table((*COLUMNS, "Python"), [(*row(one), one.python) for one in all_of_them]),
        "",
        *_not_right(all_of_them),
        *_not_seen(all_of_them),
        *_shown(all_of_them),
        *_pythons(all_of_them, pythons),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _not_right(all_of_them: list[Outcomes]) -> list[str]:
    rows = [
        (one.what, case["case"], case["kind"], case["expected"], _short(case["seen"]))
        for one in all_of_them
        for case in one.cases
        if case["kind"] != "right"
    ]
    columns = ("stack", "case", "outcome", "expected", "seen")
    return ["## What is not right", "", *table(columns, rows), ""] if rows else []


def _not_seen(all_of_them: list[Outcomes]) -> list[str]:
    """What the instruments say that they cannot look at, where they can in the course's own."""
    usual = {place for one in all_of_them if one.name == OWN.name for place in one.unseen}
    rows = [
        (one.what, what, _short(why), str(times))
        for one in all_of_them
        for (what, why), times in Counter(
            (place[1], why) for place, why in one.unseen.items() if place not in usual
        ).items()
    ]
    said = (
        "A diagnosis names each look that it could not make, and why. These it made in "
        f"{OWN.what}, and not in the stack:"
    )
    columns = ("stack", "not seen", "why", "cases")
    return ["## What is not seen", "", said, "", *table(columns, rows), ""] if rows else []


def _shown(all_of_them: list[Outcomes]) -> list[str]:
    """What a person types beside an old run, and reads."""
    found = [one for one in all_of_them if one.name == SHOWN]
    return [line for one in found for line in _beside(one)]


def _beside(one: Outcomes) -> list[str]:
    before = [line for line in one.installed if not line.startswith(INSTRUMENTS)]
    said = (
        f"In a fresh environment with {one.what}, `pip freeze` listed {len(before)} packages. "
        f"`pip install brokenruns[diagnose]` changed {', '.join(one.changed) or 'none'} of them "
        f"and added {len(one.installed) - len(before)}, the instruments. Then this broken run"
    )
    code = ("```python", BROKEN_RUN.rstrip(), "```")
    return [
        *("## Beside somebody's run", "", said, "", *code, ""),
        *("printed", "", "```", one.shown.rstrip(), "```", ""),
    ]


def _pythons(all_of_them: list[Outcomes], pythons: list[Seen]) -> list[str]:
    with_torch = " and ".join(sorted({one.python for one in all_of_them}))
    said = (
        f"The table above was made on Python {with_torch}; on another version the instruments were "
        "not seen here, as torch is not at hand for it. Seen on each, from the wheel, in an "
        "environment with nothing else (and pytest, for the tests):"
    )
    rows = [astuple(one) for one in pythons]
    return ["## Python", "", said, "", *table(PYTHON_COLUMNS, rows)] if rows else []


def _version(one: Outcomes, package: str) -> str:
    [version] = [
        line.partition("==")[2] for line in one.installed if line.startswith(f"{package}==")
    ]
    return version


def _short(text: str, most: int = 240) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]} ..."
