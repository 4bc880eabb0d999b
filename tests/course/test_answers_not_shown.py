"""What an exercise hands out does not name its answer, and a deeper look needs no other one."""

import ast
import inspect
import io
import re
import tokenize

import pytest
from course_command import ROOT

from course_utils.checks.declare import PARTS
from course_utils.exercises import all_lessons
from course_utils.notebook.lesson_source import ANSWER, CHECK, load_source
from course_utils.notebook.regions import IN_ASSIGNMENT

LESSONS = {lesson.stem: lesson for lesson in all_lessons()}
SOURCES = {stem: load_source(ROOT / "solutions" / f"{stem}.py") for stem in LESSONS}
SAYS_WHY = {"06.12"}  # its comments are the reasons that the owners of the scripts gave
DRAWN = [
    pytest.param(exercise, id=f"{exercise.id}-{exercise.title}")
    for lesson in LESSONS.values()
    for drawn in lesson.exercises
    for exercise in drawn.variants
    if exercise.case
    and isinstance(getattr(exercise.case(), "parts", None), dict)
    and exercise.id not in SAYS_WHY
]
CHOICE = re.compile(r"^\* ([a-z])\) (.+(?:\n {2,}.+)*)", re.MULTILINE)


def comments(code: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def labels(code: str) -> set[str]:
    """The names and comments of a piece of code."""
    nodes = list(ast.walk(ast.parse(code)))
    names = {getattr(node, field, None) for node in nodes for field in ("id", "attr", "name")}
    return {name for name in names if isinstance(name, str)} | set(comments(code))


def stems(text: str) -> set[str]:
    """The beginnings of a text's longer words, by which "padded" and "padding" are one.

    >>> sorted(stems("begins_twice")) == sorted(stems("each row begins twice") - stems("each"))
    True
    """
    return {word[:5] for word in re.findall("[a-z]+", text.lower()) if len(word) > 3}


def handed_out(source, exercise) -> tuple[str, list[str]]:
    """The question of an exercise, and the code between the question and its check."""
    question, code = "", []
    for cell in source.cells:
        if cell.kind == "markdown" and f"**Exercise {exercise.id}," in cell.written:
            question = cell.written
        elif question and cell.exercise == exercise.id and cell.role == CHECK:
            break
        elif question and cell.kind == "code" and cell.role != ANSWER:
            code.append(cell.stub)
    return question, code


def given_away(question: str, code: str, key: dict) -> list[tuple[str, str]]:
    """Names and comments that share two words with a right choice, each with that choice."""
    choices = {letter: text for letter, text in CHOICE.findall(question)}
    right = [choices[letter] for letter in set(key.values()) if letter in choices]
    return [
        (label, text)
        for text in right
        for label in labels(code)
        if len(stems(label) & stems(text)) > 1
    ]


def made_by_name(code: str) -> list[str]:
    """Collections whose members come from different functions of one module."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.List, ast.Tuple)):
            calls = [ast.unparse(getattr(one, "func", one)) for one in node.elts]
            owners = {call.rpartition(".")[0] for call in calls}
            if len(owners) == 1 < len(set(calls)) and owners != {""}:
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("stem", LESSONS)
def test_no_name_or_comment_of_what_is_handed_out_is_the_answer(stem):
    for exercise in LESSONS[stem].exercises:
        if not (
            isinstance(exercise.answer, dict) and set(map(type, exercise.answer.values())) == {str}
        ):
            continue
        question, cells = handed_out(SOURCES[stem], exercise)
        for code in cells:
            assert not given_away(question, code, exercise.answer)
            assert not made_by_name(code)


@pytest.mark.parametrize("exercise", DRAWN)
def test_no_comment_stands_in_the_part_of_a_drawn_script_that_is_at_fault(exercise):
    part = exercise.case().parts[exercise.answer["place"]]
    assert not comments(inspect.getsource(part))


@pytest.mark.parametrize("stem", LESSONS)
def test_no_cell_asks_for_one_answer_twice(stem):
    for cell in SOURCES[stem].cells:
        asked = [line for line in cell.stub.splitlines() if line.endswith(IN_ASSIGNMENT)]
        assert len(asked) == len(set(asked)), cell.where


def test_the_names_that_readers_read_the_answers_from_are_seen():
    question = "* a) each row begins twice\n* b) the prompt was built with another\n  template"
    key, code = (
        {"1": "a", "2": "b"},
        "made = [batches.begins_twice(5), batches.another_template(1)]",
    )
    assert {label for label, _ in given_away(question, code, key)} == {
        "begins_twice",
        "another_template",
    }
    assert made_by_name(code) == ["[batches.begins_twice(5), batches.another_template(1)]"]
    assert given_away(question, "rows = made  # another template", key)


# --- deeper looks -------------------------------------------------------------------------------


def reads_and_writes(code: str) -> tuple[set[str], set[str]]:
    """Names that a cell needs from before it, and names that it leaves behind it."""
    needs, leaves = set(), set()
    for statement in ast.parse(code).body:
        nodes = list(ast.walk(statement))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        inside = stored | {node.arg for node in nodes if isinstance(node, ast.arg)}
        is_plain = isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr))
        loaded = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        within = _bound_inside(statement) if is_plain else inside
        needs |= loaded - within - leaves
        leaves |= stored | {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        leaves |= {node.name for node in nodes if isinstance(node, ast.ClassDef)}
        aliases = [node for node in nodes if isinstance(node, ast.alias)]
        leaves |= {(node.asname or node.name).split(".")[0] for node in aliases}
    return needs, leaves


def _bound_inside(statement: ast.stmt) -> set[str]:
    """What comprehensions and lambdas of a statement bind."""
    bound = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.comprehension):
            bound |= {name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)}
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    return bound


@pytest.mark.parametrize("stem", [stem for stem, lesson in LESSONS.items() if lesson.deeper])
def test_a_deeper_look_needs_the_core_and_no_other_look(stem):
    part, needs, leaves = "", {}, {}
    for cell in SOURCES[stem].cells:
        if cell.kind == "markdown":
            for heading in re.findall(r"^## (.*)", cell.written, re.MULTILINE):
                part = heading if PARTS[1].capitalize() in heading else ""
            continue
        read, written = reads_and_writes(cell.solved)
        needs.setdefault(part, set()).update(read - leaves.get(part, set()))
        leaves.setdefault(part, set()).update(written)
    looks = [part for part in needs if part]
    borrowed = {
        (look, other): names
        for look in looks
        for other in looks
        if look != other and (names := needs[look] & leaves[other])
    }
    assert looks and not borrowed
