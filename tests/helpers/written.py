"""Writes the exercises' own answers as the cells in which a student hands them in."""

import ast
import importlib
import inspect
import json
import random
import re
from pathlib import Path
from types import ModuleType

from course_utils.checks.declare import Exercise, Lesson
from course_utils.grading.judge.names import names_of
from tests import answers
from tests.answers import right_answers, wrong_answers

ROOT = Path(__file__).parents[2]
EXERCISES = "course_utils.exercises"
OUTSIDE = (EXERCISES, answers.__name__)  # what no notebook can import in the box
ADDS = re.compile(r"(\w+\.)?(right|wrong)\w*\b").match  # a decorator that lists its answer
_SOURCES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}


def written(exercise: Exercise, answer: object) -> str | None:
    """Source that binds `exercise.reads` to `answer`; None where it cannot be written so."""
    if not callable(answer):
        try:
            is_plain = ast.literal_eval(repr(answer)) == answer
        except (ValueError, SyntaxError):
            return None
        return f"{exercise.reads} = {answer!r}" if is_plain else None
    name, module = getattr(answer, "__qualname__", ""), inspect.getmodule(answer)
    if not name.isidentifier() or getattr(module, name, None) is not answer:
        return None  # made by another function, or without a name
    source = _with_what_it_needs(_statements(module), name)
    return source and f"{source}\n\n{exercise.reads} = {name}"


def _statements(module: ModuleType) -> list[ast.stmt]:
    """Those of a module of answers, after those of the exercise's own module."""
    body = ast.parse(inspect.getsource(module)).body
    own = module.__name__.replace(answers.__name__, EXERCISES, 1)
    if own == module.__name__:
        return body
    body = [_unlisted(node) for node in body if getattr(node, "module", "") != own]
    return _statements(importlib.import_module(own)) + body


def _unlisted(node: ast.stmt) -> ast.stmt:
    """A statement without the decorators that list it as an answer."""
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = [d for d in node.decorator_list if not ADDS(ast.unparse(d))]
    return node


def source_of(function: object) -> str:
    """As somebody would hand it in."""
    [node] = ast.parse(inspect.getsource(function)).body
    return ast.unparse(_unlisted(node))


def _with_what_it_needs(body: list[ast.stmt], name: str) -> str | None:
    """The statements that `name` rests on, in their order."""
    binds = [(names_of(node), node) for node in body]
    taken, wanted, seen = set(), [name], set()
    while wanted:
        current = wanted.pop()
        seen.add(current)
        for at, (names, _) in enumerate(binds):
            if current in names.left and at not in taken:
                taken.add(at)
                wanted += names.taken - seen
    parts = [ast.unparse(body[at]) for at in sorted(taken)]
    return None if any(name in part for part in parts for name in OUTSIDE) else "\n\n".join(parts)


def sources(exercise: Exercise) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All that can be written of its right answers, and of its wrong ones."""
    if exercise.id not in _SOURCES:
        _SOURCES[exercise.id] = _sources(exercise)
    return _SOURCES[exercise.id]


def _sources(exercise: Exercise) -> tuple[tuple[str, ...], tuple[str, ...]]:
    right = [written(exercise, answer) for answer in right_answers(exercise)]
    wrong = [written(exercise, one.answer) for one in wrong_answers(exercise)]
    return tuple(filter(None, right)), tuple(filter(None, wrong))


class Drawn:
    """Makes notebooks of some lessons, each answer right, wrong, or left open by chance.

    `points` holds what each of them is worth, in the order in which they were made; None where a
    fault was put in, whose price is not known beforehand.
    """

    def __init__(self, lessons: list[Lesson], seed: int) -> None:
        self._draw, self._lessons = random.Random(seed), lessons
        self.points: list[int | None] = []

    def __call__(self, *, right: int = 1, added: str = "") -> dict:
        lesson, points = self._draw.choice(self._lessons), 0
        data = json.loads((ROOT / "notebooks" / f"{lesson.stem}.ipynb").read_text())
        drawn = {e.id: self._answer(e) for e in lesson.exercises}
        broken = self._draw.choice(list(drawn)) if added else ""
        for cell in data["cells"]:
            cell["source"] = "".join(cell["source"])
            of = cell["metadata"].get("course", {})
            if of.get("role") == "answer":
                source, worth = drawn[of["exercise"]]
                cell["source"] = source or cell["source"]
                points += worth
                if of["exercise"] == broken:
                    cell["source"] = f"{added}\n{cell['source']}"
        self.points.append(None if added else points)
        return data

    def _answer(self, exercise: Exercise) -> tuple[str, int]:
        right, wrong = sources(exercise)
        chance = self._draw.random()
        if chance < 0.5 and right:
            return self._draw.choice(right), exercise.points
        return (self._draw.choice(wrong), 0) if chance < 0.9 and wrong else ("", 0)
