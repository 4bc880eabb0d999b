"""docs/oncall.md: the tickets of the exam, how each was proved, and the scores of programs."""

import json
from collections import Counter
from pathlib import Path

from benchmarks.markdown import table
from benchmarks.oncall import healthy, mends, outsider_score, restore_commonest, seconds, where
from benchmarks.oncall import scores as oncall_scores
from benchmarks.oncall.words import guessed
from course_utils.causes.kinds import CLASSES
from course_utils.oncall import attacks, cases, spread, templates
from course_utils.oncall.bench import drawing, score
from course_utils.oncall.declare import Case
from course_utils.oncall.odd_but_fine import ODD
from course_utils.oncall.proving import SEEDS, UNDONE, must_pass

Seen = dict[str, list]  # of one case: [variant, seed, whether it is as it must be, what was said]
PROGRAMS = {
    "nothing": "edits nothing",
    "explain": "reports the first cause that `course explain` names, and mends nothing",
    "diagnose": "the same with `diagnose` (both name settings and tensors, and no lines of these "
    "files: the place is the first line with a word of theirs, and of two classes that fit it is "
    "the first)",
    "bisect": "draws settings at random until the log looks better, and cuts them down",
    "commonest": "puts back what most tickets of its kind share, as in the next section",
    "both": "mends as *commonest* does, and takes the first fault's class from `diagnose`",
}
SCORED = (
    "Scored {when}; *commonest* and *both* have seen "
    f"{oncall_scores.NUM_SEEN} tickets of other seeds. A report on files that nobody changed "
    "counts here: a bench asks once, so that nothing can be guessed. No healthy run was among them."
)
READERS = Path(__file__).with_name("readers.json")


def held(seen: list) -> int:
    """On how many seeds every variant gives the required result."""
    return sum(all(ok for _, s, ok, _ in seen if s == seed) for seed in SEEDS)


def page(found: Seen) -> str:
    """docs/oncall.md."""
    loaded = [cases.load(name) for name in found]
    levels = Counter(case.level for case in loaded)
    kinds = {fault.kind for case in loaded for fault in case.faults}
    counted = ", ".join(f"{levels[level]} of level {level}" for level in sorted(levels))
    right, chance, num = guessed([cases.load(name) for name in cases.names()])
    parts = [
        "# The tickets of the exam",
        "",
        "Made by `make oncall`. **It gives the answers away**; who wants to be examined reads on "
        "elsewhere.",
        "",
        *_missing(found),
        f"{counted}; {len(kinds)} of {len(CLASSES)} classes; {len(templates.names())} healthy "
        "runs. A case held on a seed when the broken run failed the check, the fix passed it, and "
        "every part of the fix and every non-fix failed. Tried on every case: "
        f"{', '.join(attacks.STANDARD)}.",
        "",
        *_undone(found),
        *table(
            ("case", "title", "level", "run", "classes", "cause", "other non-fixes", "held"),
            [(*_row(case), f"{held(found[case.id])} of {len(SEEDS)}") for case in loaded],
        ),
        "",
        *_where(loaded),
        "## What the words of a ticket give away",
        "",
        f"A guess by the bag of words of the other tickets names the class of {right} of {num} "
        f"tickets; guesses with the classes shuffled name {chance:.1f} in the mean.",
        "",
        "## Healthy runs",
        "",
        f"What the check holds a mended run against: {len(spread.SEEDS)} seeds, another base and "
        f"other data each. The bound lies {spread.DEVIATIONS:g} deviations from their mean, of "
        f"all but the worst {spread.LEFT_OUT:.0%}, which fail far from the others; a seed on which "
        "the healthy files fail is left out, and a mended run that is beyond a bound, but no worse "
        "than some healthy run was, is trained on a third seed.",
        "",
        *table(
            ("run", "what is measured", "lowest", "highest", "counts as healthy"),
            [row for name in templates.names() for row in _spread_rows(name)],
        ),
        "",
        f"Bounds of one half of these seeds refuse, of the other half: {_refused_by_half()}.",
        "",
        *_handed_in(),
        "## How long it takes",
        "",
        *seconds.said(),
        "",
        *_mends(),
        *_readers(),
        *_scores(),
        *_odd_but_fine(),
        *_commonest(),
        "## How a case failed",
        "",
        "The first problem that the check named for the broken run, each part of the fix and each "
        f"non-fix, seed {SEEDS[0]}.",
        "",
        *table(
            ("case", "variant", "what the check said"),
            [
                (name, variant, said)
                for name, seen in found.items()
                for variant, seed, _, said in seen
                if seed == SEEDS[0] and not must_pass(variant)
            ],
        ),
    ]
    return "\n".join(parts) + "\n"


def _scores() -> list[str]:
    """The scores of programs that work without understanding, and how to score others."""
    if not oncall_scores.kept():
        return []
    programs = "; ".join(f"*{name}* {PROGRAMS[name]}" for name in oncall_scores.kept())
    return [
        "## Programs against tickets",
        "",
        "`course oncall bench --out OUT -- COMMAND` draws tickets from a secret seed, starts "
        "COMMAND in a copy of each folder (bubblewrap: a read-only file system without what holds "
        "answers, no network unless `--network` is given, and a time limit), then judges the "
        "folder as `check` does. A place or a class counts once a fault. OUT keeps a line a "
        "ticket, so that the same command goes on after a crash; `protocol.json` says what was "
        "asked, with a mark of the seed in place of the seed. Submit both files.",
        "",
        f"Of seed {oncall_scores.SEED} (`python -m benchmarks.oncall.scores`): {programs}.",
        "",
        SCORED.format(when=oncall_scores.when()),
        "",
        *table(oncall_scores.columns(), oncall_scores.rows()),
        "",
        score.NOTE,
        "",
    ]


def _odd_but_fine() -> list[str]:
    """The healthy runs among the tickets of a bench, and why each is fine."""
    return [
        "## Healthy runs among the tickets of a bench",
        "",
        f"Of a bench's tickets {drawing.HEALTHY:.0%}, unless another share is asked for, are runs "
        "in which nothing is wrong. Each has a letter about something odd; to change a file "
        "of such a run is a false fix.",
        "",
        *table(("run", "what the letter says", "why it is fine"), _odd_rows()),
        "",
    ]


def _odd_rows() -> list[tuple[str, str, str]]:
    return [(template, odd.ticket, odd.why) for template, odd in ODD.items()]


def _commonest() -> list[str]:
    """What a comparison of tickets gains, before and after they were written in many ways."""
    columns = ("tickets written", "seen", "cases", "fixed", "places", "classes", "solved")
    rows = [
        (how, num, str(one["cases"]), str(one["fixed"]), *_of_faults(one), str(one["solved"]))
        for how, by_num in restore_commonest.kept().items()
        for num, one in sorted(by_num.items(), key=lambda pair: int(pair[0]))
    ]
    return [
        "## What other tickets give away",
        "",
        "`benchmarks.oncall.restore_commonest` knows no machine learning: it has seen other "
        "tickets and puts back what most of them share, in a form without names, order and "
        "layout. Its author wanted to win. Offline, without training: *fixed* is a ticket whose "
        "files say again what the healthy ones say, *solved* one with every place and class.",
        "",
        *table(columns, rows),
        "",
        *_outsider(),
    ]


def _outsider() -> list[str]:
    """What a program gains whose author did not write the tickets."""
    return [
        "`benchmarks/oncall/outsider` is such a program by somebody who had 120 tickets and none "
        "of the course's code, and wanted to win. Each ticket is solved beside all others of its "
        "set (`python -m benchmarks.oncall.outsider_score`): of three benches of 24, which is what "
        "`course oncall bench --num 8` draws, and of one of 120, as many as its author had. The "
        "goal is a share of 10 % at most.",
        "",
        *table(
            (
                *("others seen", "scored on", "kinds of run", "level"),
                *("tickets", "fixed", "solved", "share"),
            ),
            [
                (
                    num,
                    scored["on"],
                    str(scored["kinds"]),
                    level,
                    *(str(one[name]) for name in ("tickets", "fixed", "solved")),
                    _share(one),
                )
                for num, scored in outsider_score.kept().items()
                for level, one in scored["levels"].items()
            ],
        ),
        "",
    ]


def _share(one: dict[str, int]) -> str:
    return f"{one['solved'] / one['tickets']:.0%}"


def _of_faults(one: dict[str, int]) -> tuple[str, str]:
    return tuple(f"{one[name]} of {one['faults']}" for name in ("places", "classes"))


def _missing(found: Seen) -> list[str]:
    """The sentence that says that some cases were not run."""
    missing = [f"{name} ({cases.load(name).level})" for name in cases.names() if name not in found]
    if not missing:
        return []
    whole = len(missing) + len(found)
    said = f"**{len(found)} of {whole} are proved; not run yet, and not drawn: "
    return [f"{said}{', '.join(missing)}.**", ""]


def _where(loaded: list[Case]) -> list[str]:
    """How many faults stand in each place."""
    places = where.counted(loaded)
    whole = places.total()
    return [
        "## Where the faults stand",
        "",
        f"{whole - places[where.CODE]} of {whole} faults "
        f"({where.share_outside_code(loaded):.0%}) stand in no line of code, told by what is "
        "planted; one of several edits is code where one of these is.",
        "",
        *table(
            ("the planted change stands in", "faults", "share"),
            [(name, str(places[name]), f"{places[name] / whole:.0%}") for name in where.PLACES],
        ),
        "",
    ]


def _undone(found: Seen) -> list[str]:
    """How many parts of a fix were tried, and how many of them are a whole one."""
    tried = {
        (name, variant)
        for name, seen in found.items()
        for variant, *_ in seen
        if variant.startswith(UNDONE)
    }
    enough = sum(must_pass(variant) for _, variant in tried)
    passing = [
        (is_as_it_must_be, said)
        for seen in found.values()
        for variant, _, is_as_it_must_be, said in seen
        if variant.startswith(UNDONE) and must_pass(variant)
    ]
    runs, like = len(passing), sum(ok and bool(said) for ok, said in passing)
    return [
        "Where one fault was planted by several edits, each of them was undone alone as well: "
        f"{len(tried)} in {len({name for name, _ in tried})} cases. {enough} of these are a whole "
        "fix, because what is left does nothing or no harm, and had to pass, or to measure exactly "
        f"as the fix does on the same machine where that is not healthy there ({like} of {runs} "
        "runs); the others had to fail.",
        "",
    ]


def _row(case: Case) -> tuple[str, ...]:
    kinds = ", ".join(fault.kind for fault in case.faults)
    causes = " ".join(fault.cause for fault in case.faults)
    non_fixes = ", ".join(case.non_fixes)
    return case.id, case.title, str(case.level), case.template, kinds, causes, non_fixes


def _spread_rows(name: str) -> list[tuple[str, ...]]:
    template = templates.load(name)
    kept = spread.load(template)
    return [
        (
            name,
            of.says,
            f"{min(kept.values[metric]):.3g}",
            f"{max(kept.values[metric]):.3g}",
            spread.in_words(template, kept, metric),
        )
        for metric, of in template.metrics.items()
    ]


def _refused_by_half() -> str:
    """How many healthy runs the bounds refuse that were not made of them, by template."""
    loaded = [templates.load(name) for name in templates.names()]
    counts = {one.name: spread.refused_by_half(one, spread.load(one)) for one in loaded}
    return ", ".join(f"{name} {num} of {whole}" for name, (num, whole) in counts.items())


def _handed_in() -> list[str]:
    """How many healthy hand-ins were refused."""
    found = healthy.kept()
    refused = sum(not one.is_fixed for one in found)
    trained, missed = sum(one.trained for one in found), sum(one.missed for one in found)
    lasted = sorted(one.seconds for one in found)
    return [
        f"The healthy files, as a ticket writes them, were handed in for {len(found)} tickets of "
        f"{len({one.template for one in found})} runs: {refused} refused. On {missed} of the "
        f"{trained} seeds that were trained for it they were not healthy, and these were left "
        f"out. A check took {lasted[len(lasted) // 2]:.0f} s in the median and "
        f"{lasted[-1]:.0f} s at most, on a busy machine (`python -m benchmarks.oncall.healthy`).",
        "",
    ]


def _mends() -> list[str]:
    """How fixes by others are judged."""
    about, kept = mends.kept()
    parts = [
        line
        for number, how in enumerate(about, start=1)
        for line in (how, "", _judged_of([one for one in kept if one.author == number]), "")
    ]
    return ["## Fixes by others", "", *parts]


def _judged_of(kept: list[mends.Mend]) -> str:
    due = [one for one in kept if one.must_be_solved]
    wrong = [one for one in kept if not one.is_right]
    again = [one for one in due if one.now]
    said = []
    if due:
        said.append(
            f"{len(due)} right fixes with a right report, of {len({one.case for one in due})} "
            f"cases: {sum(one.first['solved'] for one in due)} were solved at first."
        )
    if again:
        said.append(
            f"{len(again)} were judged again after the judge was mended, and "
            f"{sum(one.now['solved'] for one in again)} of them are solved "
            "(`python -m benchmarks.oncall.mends`)."
        )
    if wrong:
        said.append(
            f"Of {len(wrong)} that their author found to be wrong, "
            f"{sum(one.first['fixed'] for one in wrong)} passed at first{_still(wrong)}."
        )
    return " ".join(said)


def _still(wrong: list[mends.Mend]) -> str:
    """How many wrong fixes pass that were judged again."""
    again = [one for one in wrong if one.now]
    num = sum(one.now["fixed"] for one in again)
    return f"; of {len(again)} judged again, {num} pass" if again else ""


def _readers() -> list[str]:
    """How people did on unseen tickets: minutes and checks are from their diaries."""
    kept = json.loads(READERS.read_text(encoding="utf-8"))
    columns = ("reader", "level", "seed", "solved", "minutes", "checks", "hints", "stuck")
    return [
        "## Fresh readers",
        "",
        kept["about"],
        "",
        kept["reading"],
        "",
        kept["budget"],
        "",
        *table(columns, [tuple(str(row[name]) for name in columns) for row in kept["rows"]]),
        "",
        "What was changed after them:",
        "",
        *(f"* {change}" for change in kept["changed"]),
        "",
    ]
