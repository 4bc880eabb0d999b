"""Judges one fixed run: forbidden changes, the work it did, and the results it reached.

Every problem is a sentence that says what was seen, and names no fault.
"""

import json
import lzma
import re
import reprlib
from collections import Counter
from functools import partial

import yaml

from course_utils.oncall import descent, mechanism, repairs
from course_utils.oncall.binaries import HANDED_OVER, TENSORS
from course_utils.oncall.declare import Files, Template, Verdict
from course_utils.oncall.result import NothingMade, Result
from course_utils.oncall.rows import as_rows
from course_utils.oncall.spread import Spread, bound, in_words, may_be_healthy
from course_utils.oncall.training import Trained

MORE_CHARS = 4000  # that a fixed file may be longer, and that added ones may have
MORE_BYTES = 1000  # of what a folder did not hold, compressed; of 213 fixes by others 349 at most
MODULE = re.compile(r"[A-Za-z_]\w{0,40}\.py")
ROWS_OR_TENSORS = (".jsonl", TENSORS)  # which have limits of their own
LOST_ROWS = 0.1  # of the sound rows of a file
LOOK_ALIKE = 0.02  # of all its rows: sound ones that look like the faulty, and are mended too
MORE_STEPS, MORE_TOKENS, LEAST_TOKENS = 0.1, 1.8, 0.25


def refused(template: Template, healthy: Files, handed: Files, mended: Files) -> list[str]:
    """Forbidden differences between the folder handed out and the fixed one; runs nothing."""
    gone = [name for name in handed if name not in mended and not name.endswith(HANDED_OVER)]
    if gone:
        return [f"{name} is gone" for name in gone]
    problems = _added_refused({k: text for k, text in mended.items() if k not in handed})
    problems += repairs.problems(healthy, handed, mended)
    for name, text in handed.items():
        if name not in mended or name.endswith(TENSORS):
            continue
        if name.endswith(".jsonl"):
            problems += _rows_refused(name, healthy[name], text, mended[name])
        elif len(mended[name]) > len(text) + MORE_CHARS:
            problems.append(f"{name} has grown by more than {MORE_CHARS} characters")
    if new_bytes(handed, mended) > MORE_BYTES:
        problems.append(
            f"what was written anew has more than {MORE_BYTES} bytes when it is compressed: a fix "
            "is smaller than the run"
        )
    try:
        settings = [yaml.safe_load(one["config.yaml"]) for one in (healthy, handed, mended)]
        if not isinstance(settings[-1], dict):
            raise TypeError
    except (yaml.YAMLError, TypeError, RecursionError):
        return [*problems, "config.yaml cannot be read as YAML with one key a line"]
    was_healthy, was_handed, now = settings
    for key in template.sizes:
        values = _values(now, key)
        if values not in (_values(was_healthy, key), _values(was_handed, key)):
            said = reprlib.repr(values[-1] if values else None)
            problems.append(f"{key} is {said} in config.yaml: that changes how large the run is")
    return problems


def _added_refused(added: Files) -> list[str]:
    problems = [f"{k[:60]!r} is no module of this run" for k in added if not MODULE.fullmatch(k)]
    if sum(map(len, added.values())) > MORE_CHARS:
        problems.append(f"the files that were added have more than {MORE_CHARS} characters")
    return problems


def new_bytes(handed: Files, mended: Files) -> int:
    """How much text and settings say that they did not say before; no rows, no tensors."""
    before, after = (
        "".join(text for name, text in sorted(files.items()) if not name.endswith(ROWS_OR_TENSORS))
        for files in (handed, mended)
    )
    return _compressed(before + after) - _compressed(before)


def _compressed(text: str) -> int:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9}]
    return len(lzma.compress(text.encode(), lzma.FORMAT_RAW, filters=filters))


def _values(settings: dict, key: str) -> list:
    """What a key is set to, at the left or in a section."""
    parts = [settings, *(part for part in settings.values() if isinstance(part, dict))]
    return [part[key] for part in parts if key in part]


def _rows_refused(name: str, healthy: str, handed: str, mended: str) -> list[str]:
    """Healthy rows must stay, but for a few that look like faulty ones; others may be left out."""
    try:
        was, given, now = (Counter(map(_key, as_rows(t))) for t in (healthy, handed, mended))
    except (ValueError, RecursionError):
        return [f"{name} cannot be read: each line is one JSON object"]
    sound = was & given
    lost = sound.keys() - now.keys()  # whoever leaves out copies of a row loses none
    if len(lost) > max(LOST_ROWS * len(sound), LOOK_ALIKE * given.total()):
        return [f"{name} has lost rows that there was nothing wrong with"]
    room = (given - was).total() + (sound - now).total()
    added = (now - (given | was)).total()
    if added > room:
        return [f"{name} has {added} rows that it was not handed out with"]
    return []


def _key(row: dict) -> str:
    return json.dumps(row, sort_keys=True)


def judged(template: Template, spread: Spread, trained: Trained, base: dict[str, bytes]) -> Verdict:
    """Whether a finished run did the work asked for, and reached what healthy runs reach."""
    if ended := _ended_badly(trained):
        return Verdict((ended,), {}, ended_early=True)
    work = _other_work(spread, trained)
    result = Result(trained.files, base)
    try:
        descent.check(template.name, result)
        measured = template.measure(result)
    except NothingMade as nothing:
        return Verdict((*work, str(nothing)), {})
    inside = [*mechanism.problems(template.name, trained, result), *_too_little(spread, trained)]
    problems = _beyond(template, spread, measured)
    return Verdict(
        (*work, *problems, *inside),
        measured,
        is_only_larger=bool(work) and not problems and not inside,
        may_be_chance=not work and not inside and may_be_healthy(template, spread, measured),
    )


def strays(template: Template, spread: Spread, result: Result, healthy: Result) -> str:
    """Why weights that measure as healthy have not come out of training on their data, or "".

    Args:
        healthy: what the files without the fault were trained into on the same seed.
    """
    try:
        descent.check_way(result, healthy)
        needs_none = partial(_needs_no_layers, template, spread)
        if needs_none(result) and not needs_none(healthy):  # a table and a head may be enough
            return "what is measured does not rest on the layers that the run trains"
    except NothingMade as nothing:
        return str(nothing)
    return ""


def _needs_no_layers(template: Template, spread: Spread, result: Result) -> bool:
    """Whether it still measures as healthy once its layers are those of base/."""
    return not _beyond(template, spread, template.measure(descent.put_back(result)))


def learns_unpaid(
    template: Template, spread: Spread, by_chance: Trained, base: dict[str, bytes]
) -> str:
    """Why a run does not learn from what it pays, or "".

    Args:
        by_chance: the run, trained while replies were paid by chance.
    """
    if by_chance.code != 0:
        return (
            "train.py ends with an error when its replies are paid by chance, so nobody can ask "
            "whether it learns from its rewards"
        )
    try:
        problems = _beyond(template, spread, template.measure(Result(by_chance.files, base)))
    except NothingMade:
        return ""
    if problems:
        return ""
    return (
        "the results are as good when replies are paid by chance, so this run does not learn from "
        "its rewards"
    )


def _beyond(template: Template, spread: Spread, measured: dict[str, float]) -> list[str]:
    return [
        f"{of.says}: {measured[name]:.3g} (healthy: {in_words(template, spread, name)})"
        for name, of in template.metrics.items()
        if not _is_within(of.higher, measured[name], bound(template, spread, name))
    ]


def _is_within(higher: bool, value: float, worst: float) -> bool:
    return value >= worst if higher else value <= worst  # nan is neither


def _ended_badly(trained: Trained) -> str:
    if trained.code is None:
        return "train.py was ended: it took far more time or memory than the run needs"
    if trained.code != 0:
        last = [line for line in trained.console.splitlines() if line.strip()][-1:]
        return f"train.py ended with an error: {' '.join(last)[:300]}"
    return ""


def _other_work(spread: Spread, trained: Trained) -> list[str]:
    """Counted work that is not the work of this run."""
    if abs(trained.steps - spread.steps) > MORE_STEPS * spread.steps:
        return [f"{trained.steps} optimizer steps were taken, and the run has {spread.steps}"]
    if trained.tokens > MORE_TOKENS * spread.tokens:
        more = trained.tokens / spread.tokens
        return [f"{more:.1f} times as many tokens were trained on as the run has"]
    return []


def _too_little(spread: Spread, trained: Trained) -> list[str]:
    """Results that come out of less training than the run has."""
    share = trained.tokens / spread.tokens
    if share < LEAST_TOKENS:
        return [f"{share:.0%} of the tokens that the run trains on were trained on"]
    return []
