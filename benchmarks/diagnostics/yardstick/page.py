"""docs/yardstick.md: what each tool said of each corpus, our losses included."""

from collections.abc import Iterator
from statistics import median

from benchmarks.diagnostics.yardstick.cases import Case, cases_of, chosen
from benchmarks.diagnostics.yardstick.protocol import PROTOCOL
from benchmarks.diagnostics.yardstick.tools import TOOLS
from benchmarks.markdown import table

OURS = ("diagnose", "explain")
FIRST_THREE = 3
COLUMNS = (
    "tool",
    "detected",
    "right cause first",
    "among the first three",
    "alarms on healthy cases",
    "not for such a case",
    "CPU seconds a case",
)
ABOUT = {
    "runs": (
        "Our own runs",
        "One [broken run](incidents.md) of each kind of failure with its healthy twin, and every "
        "third of the healthy runs that look broken. Tools that read logs get what the run prints "
        "and logs. **Our rules were written on half of these runs**, so these rows of ours are "
        "those of the author of the exam: the [blind rounds](blind_rounds.md) are our test. What "
        "`diagnose` says of every run: [here](diagnosis.md).",
    ),
    "threads": (
        "Logs that people pasted",
        "From `tests/helpers/pasted`, the first of each cause, without those that cannot tell. "
        "**Our rules were written with most of them at hand.**",
    ),
    "gpualert": (
        "The logs of gpualert-eval",
        "Crashes of 15 classes, by others (github.com/Parv-01/gpualert-eval, MIT; its text stands "
        "under its licence in `benchmarks/diagnostics/yardstick/outside/`): the first injected or "
        "synthetic and the first wild log of each class. No healthy log is among them. Half of "
        "the classes are no failures of training (a missing file, a permission), and `explain` "
        "learnt some of its messages after it had been tried on this corpus.",
    ),
    "grpo": (
        "SkillsBench's debug-trl-grpo",
        "Three faults that hide each other, rebuilt on a tiny run from the description in "
        "skillsbench#775, and no line copied: replies decoded to nothing, an advantage divided by "
        "std + 1e4, a log-softmax of the wrong sign. Each stage has one fault less; the last is "
        "healthy. What counts as right for the second stage was corrected after the first answers "
        "were read: a tiny standard deviation is the opposite of its fault, and no longer counts. "
        "`diagnose` had said it and named 2 of 3; its rule was corrected after this was read.",
    ),
}


def page(kept: dict) -> str:
    """The whole page, from kept answers."""
    lines = [
        "# The yardstick: which tool says what",
        "",
        "Made by `make yardstick` from `benchmarks/diagnostics/yardstick/outcomes.json`. Any tool "
        "can be scored: `make bench-diagnosis TOOL=COMMAND`.",
        "",
        "*Detected*: an alarm on a broken case, whatever it names. *Right cause*: one of the names "
        "it gives is a true cause, or of the true kind of failure; a tool that only alarms has "
        "none. *Not for such a case*: the tool cannot be used on it, as it says or as was tried; "
        "it counts as not detected. Tools keep their own thresholds, and were not tuned. These "
        "runs are tiny and short: a tool that waits for 50 steps before it speaks has little "
        "chance here, and that says nothing about a run of days.",
    ]
    for corpus, (title, about) in ABOUT.items():
        lines += ["", f"## {title}", "", about, "", *table_of(corpus, kept), ""]
        lines += _losses(corpus, kept)
    lines += ["", "## The tools, and how each was used", ""]
    rows = [(tool.name, tool.version, tool.use, _limits(tool, kept)) for tool in TOOLS]
    lines += table(("tool", "version", "used so", "limits"), rows)
    lines += ["", "## Score a tool", "", *PROTOCOL.splitlines(), ""]
    lines += [
        "To stand in the tables here: an adapter of a few lines in "
        "`benchmarks/diagnostics/yardstick/adapters/`, its pins in `locks/`, a line in "
        "`tools.py`, and the answers that `--tool NAME` keeps in `outcomes.json`."
    ]
    return "\n".join(lines) + "\n"


def table_of(corpus: str, kept: dict, *, everything: bool = False) -> list[str]:
    """A row for each tool that has answered at least one of the chosen cases."""
    cases = chosen(cases_of(corpus), everything=everything)
    rows = [_row(name, kept[name]["answers"], cases) for name in _in_order(kept)]
    return table(COLUMNS, [row for row in rows if row])


def _in_order(kept: dict) -> list[str]:
    known = [tool.name for tool in TOOLS]
    return [name for name in known if name in kept] + sorted(kept.keys() - set(known))


def rank_of(case: Case, answer: dict) -> int | None:
    """The place of the first right cause, from 1; None if there is none."""
    for place, cause in enumerate(answer.get("causes", []), 1):
        if any(map(case.is_named_by, cause["names"])):
            return place
    return None


def _row(name: str, answers: dict, cases: list[Case]) -> tuple[str, ...] | None:
    asked = [case for case in cases if case.key in answers]
    if not asked:
        return None
    broken = [case for case in asked if case.right]
    fine = [case for case in asked if not case.right]
    ranks = [rank_of(case, answers[case.key]) for case in broken]
    alarms = [answers[case.key]["alarm"] for case in fine]
    used = [answers[case.key] for case in asked if not answers[case.key].get("skipped")]
    partly = f" ({len(asked)} of {len(cases)} cases asked)" if len(asked) < len(cases) else ""
    return (
        name + partly,
        _share(sum(answers[case.key]["alarm"] for case in broken), len(broken)),
        _share(ranks.count(1), len(broken)),
        _share(sum(rank is not None and rank <= FIRST_THREE for rank in ranks), len(broken)),
        f"{sum(alarms)} of {len(fine)}" if fine else "none is healthy",
        f"{len(asked) - len(used)} of {len(asked)}",
        f"{median(one.get('cpu_s', 0.0) for one in used):.1f}" if used else "-",
    )


def _share(count: int, whole: int) -> str:
    return f"{count} of {whole} ({count / whole:.0%})" if whole else "-"


def _losses(corpus: str, kept: dict) -> Iterator[str]:
    """Where ours are wrong, and who is right there."""
    cases = chosen(cases_of(corpus), everything=False)
    for ours in OURS:
        answers = kept.get(ours, {}).get("answers", {})
        asked = [c for c in cases if c.key in answers and not answers[c.key].get("skipped")]
        if not asked:
            continue
        missed = [c for c in asked if c.right and rank_of(c, answers[c.key]) != 1]
        alarms = [c.name for c in asked if not c.right and answers[c.key]["alarm"]]
        told = [f"{case.name}{_who_else(case, kept, ours)}" for case in missed]
        yield f"* `{ours}` does not put first: {', '.join(told) or 'none'}."
        if not all(case.right for case in asked):
            yield f"* `{ours}` alarms on: {', '.join(alarms) or 'none'}."


def _who_else(case: Case, kept: dict, ours: str) -> str:
    right = [
        name
        for name in _in_order(kept)
        if name != ours and rank_of(case, kept[name]["answers"].get(case.key, {})) == 1
    ]
    return f" ({', '.join(right)} does)" if right else ""


def _limits(tool, kept: dict) -> str:
    """What it is not made for, and what failed when it was tried."""
    answers = kept.get(tool.name, {}).get("answers", {}).values()
    failed = [one["skipped"] for one in answers if "failed" in one.get("skipped", "")]
    common = max(set(failed), key=failed.count) if failed else ""
    tried = f"on {len(failed)} cases it failed, most often: {common}" if failed else ""
    return "; ".join(filter(None, [tool.limits, tried]))
