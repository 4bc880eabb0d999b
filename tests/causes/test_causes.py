"""The catalogue of causes: its fields refer to what is there, and no table repeats them."""

import ast
from functools import cache

from course_command import ROOT

from course_utils.causes import BY_NAME, CAUSES, harms, ranked
from course_utils.causes.cause import Cause
from course_utils.causes.kinds import CLASSES, TAUGHT, TAUGHT_BY
from course_utils.diagnostics.diagnosis.report.fixes import CHANGES
from course_utils.explain.messages.complaints import COMPLAINTS
from course_utils.explain.messages.phrases import PHRASES

PACKAGE = ROOT / "course_utils"
MOST_LINES, A_TABLE = 24, 3
# Modules outside the catalogue that may hold a table of causes, and why.
THEIR_WORDS = "what other programs call their findings"
YARDSTICK = "benchmarks/diagnostics/yardstick"
TABLES = {
    f"{YARDSTICK}/adapters/log_readers.py": THEIR_WORDS,
    f"{YARDSTICK}/adapters/riders.py": THEIR_WORDS,
    f"{YARDSTICK}/cases.py": "what is right for cases of other people",
}
HARMS = {"", *(text for name, text in vars(harms).items() if name.isupper())}


@cache
def lessons() -> dict[str, str]:
    """The words of each lesson, in lower case, by its stem."""
    texts = {path.stem: path.read_text() for path in (ROOT / "solutions").glob("[0-9][0-9]_*.py")}
    return {
        stem: " ".join(text.replace("\n#", "\n").lower().split()) for stem, text in texts.items()
    }


def test_a_cause_is_met_in_the_lesson_that_it_names():
    """Its lesson has the words by which it is met, and no other lesson has them more often."""
    for cause in (cause for cause in CAUSES.values() if cause.lesson):
        counts = {stem: text.count(cause.met) for stem, text in lessons().items()}
        assert cause.met and counts[cause.lesson] == max(counts.values()) > 0, (cause.key, counts)


def test_a_kind_that_a_lesson_teaches_is_known():
    assert set(TAUGHT) <= set(CLASSES) and set(TAUGHT.values()) <= set(lessons())
    assert {kind for kinds in TAUGHT_BY.values() for kind in kinds} <= set(CLASSES)
    assert all(kind in TAUGHT_BY[lesson[:2]] for kind, lesson in TAUGHT.items())


def test_the_fields_of_a_cause_refer_to_what_is_there():
    shown = source("course_utils/diagnostics")
    for cause in CAUSES.values():
        assert cause.explains <= CAUSES.keys() and cause.rivals <= cause.explains
        assert set(cause.kinds) <= set(CLASSES)
        assert cause.where in HARMS and cause.harm in HARMS
        assert cause.damages in ("", "ends", "numbers", "length")
        assert not cause.settings_fix or cause.settings_fix in CHANGES
        assert bool(cause.met) == bool(cause.lesson) and (cause.healthy or not cause.neutral)
        for name in cause.follows | cause.speaks_of | set(cause.names):
            assert f'"{name.removesuffix(" model")}' in shown, name


def test_what_instruments_and_processes_say_names_one_cause():
    for said in (
        [name for cause in CAUSES.values() for name in cause.names],
        [cause.signal for cause in CAUSES.values() if cause.signal],
        [cause.exit_code for cause in CAUSES.values() if cause.exit_code is not None],
    ):
        assert len(said) == len(set(said))
    assert set(BY_NAME.values()) <= set(CAUSES)
    said = {name for cause in CAUSES.values() for name, _ in cause.complaints}
    assert len(said) == len(COMPLAINTS) and all(keys for _, keys in COMPLAINTS)


def test_something_finds_each_cause():
    """Its words, or a rule or look that writes it down."""
    said = {phrase[0] for phrase in PHRASES} | set(BY_NAME.values())
    said |= {key for key, cause in CAUSES.items() if cause.exit_code is not None}
    said |= {key for key, cause in CAUSES.items() if cause.complaints}
    found_by = source("course_utils/explain") + source("course_utils/diagnostics/diagnosis")
    silent = {key for key in CAUSES if key not in said and f'"{key}"' not in found_by}
    assert not silent


def test_no_table_of_causes_stands_outside_the_catalogue():
    paths = [*PACKAGE.rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    outside = [path for path in paths if PACKAGE / "causes" not in path.parents]
    assert {path.relative_to(ROOT).as_posix() for path in outside if tables(path)} == set(TABLES)


def tables(path) -> list[int]:
    """The lines of a module on which a set or dict of several causes begins."""
    if path.is_relative_to(PACKAGE / "incidents"):
        return []  # an incident lists the causes that are right
    tree = ast.parse(path.read_text())
    literals = [node for node in ast.walk(tree) if isinstance(node, ast.Dict | ast.Set)]
    literals += [call for call in ast.walk(tree) if is_set(call)]
    words = [(node.lineno, words_in(node)) for node in literals]
    return [line for line, said in words if len(said & CAUSES.keys() - CLASSES.keys()) >= A_TABLE]


def is_set(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("set", "frozenset")


def words_in(node: ast.AST) -> set[str]:
    texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return {word for text in texts if isinstance(text, str) for word in text.split()}


def test_a_record_is_short():
    for path in (PACKAGE / "causes").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == Cause.__name__:
                assert node.end_lineno - node.lineno < MOST_LINES, f"{path.name}:{node.lineno}"


def test_two_that_explain_each_other_are_not_both_lost():
    pair = {"labels_masked": 6.0, "numbers_broken": 6.0}
    assert set(ranked(pair)) == set(pair)
    assert ranked(pair | {"numbers_broken": 7.0}) == ("numbers_broken",)


def test_a_log_says_rivals_and_a_live_run_the_stronger():
    pair = {"labels_masked": 6.5, "nan_shown_as_zero": 5.5}
    assert ranked(pair) == ("labels_masked",)
    assert ranked(pair, in_a_log=True) == tuple(pair)


@cache
def source(folder: str) -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / folder).rglob("*.py")))
