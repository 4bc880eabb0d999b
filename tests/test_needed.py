"""Which cells an answer needs: those that bind what it takes, and none that only look like it."""

import ast

import pytest

from course_utils.grading.judge.names import changed_names, names_of
from course_utils.grading.judge.needed import needed

CASES = {
    "a = b": ("b", "a"),
    "a = 1\nb = a": ("", "a b"),
    "a += 1": ("a", "a"),
    "x = [i for i in y if i]": ("y", "x"),
    "x = {k: v for k, v in y}": ("y", "x"),
    "x = [w := i for i in y]\nw": ("y", "w x"),
    "for i in y:\n    i": ("y", "i"),
    "for i in y:\n    pass\ni": ("i y", "i"),
    "if c:\n    a = 1\nelse:\n    a = 2\na": ("c", "a"),
    "if c:\n    a = 1\na": ("a c", "a"),
    "try:\n    a = 1\nexcept E as e:\n    e\na": ("E a", "a e"),
    "with f() as g:\n    h = g\nh": ("f", "g h"),
    "def f(x):\n    return x + y": ("y", "f"),
    "def f(x):\n    return g(x)\ndef g(x):\n    return f(x)": ("", "f g"),
    "def f(x, z=w):\n    q = x\n    return q + z": ("w", "f"),
    "def f():\n    global n\n    n = 1": ("n", "f"),
    "def f():\n    def g():\n        return h\n    return g": ("h", "f"),
    "f = lambda x: x + y": ("y", "f"),
    "class A(B):\n    c = d\n    def f(self):\n        return c": ("B c d", "A"),
    "import a.b as c, d.e": ("", "c d"),
    "from m import *": ("", "*"),
    "match x:\n    case [y, *z]:\n        y": ("x", "y"),
    "print(*(a for a in b))": ("b print", ""),
}


@pytest.mark.parametrize("source", CASES)
def test_names_that_are_taken_and_left(source):
    taken, left = (set(names.split()) for names in CASES[source])
    found = names_of(source)
    assert found.taken == taken
    assert left <= found.left


def test_what_is_changed_in_place():
    source = "a.b = 1\nc[0] = 2\nd.append(3)\ne.f().g()\nh = i.j()\nex.A.check(k)"
    assert changed_names(ast.parse(source)) == {"a", "c", "d", "e"}


def cells(*pairs):
    return [
        {"role": role, "exercise": "90.1" if role in ("answer", "check") else "", "source": source}
        for role, source in pairs
    ]


def sources(*pairs):
    units = needed(cells(*pairs), "90.1", {"DOUBLE": "double"})
    return [unit.source for unit in units]


def test_a_lessons_own_loop_is_not_run_for_a_name_that_it_shares():
    train = "for name in runs:\n    train(name)"
    answer = "names = [name for name in model]\ndouble = names"
    assert sources(("lesson", "model = 1"), ("lesson", train), ("answer", answer)) == [
        "model = 1",
        answer,
    ]


def test_of_a_lessons_cells_the_last_one_above_the_answer_binds():
    found = sources(
        ("lesson", "size = 1"), ("lesson", "size = 2"), ("answer", "double = size"), ("check", "")
    )
    assert found == ["size = 2", "double = size"]


def test_what_a_lesson_does_to_a_value_is_run_and_what_it_does_to_a_module_is_not():
    pairs = [("lesson", "import torch"), ("lesson", "torch.seed()"), ("lesson", "run = make()")]
    pairs += [("lesson", "run.train()"), ("answer", "double = torch, run.log")]
    assert sources(*pairs) == ["import torch", "run = make()", "run.train()", pairs[-1][1]]


def test_a_lessons_value_that_the_student_replaces_is_not_made():
    answer = "double = found"
    pairs = [("lesson", "found = slow()"), ("", "found = 2"), ("answer", answer)]
    assert sources(*pairs) == ["found = 2", answer]
    pairs[1] = ("", "if maybe:\n    found = 2")
    assert len(sources(*pairs)) == 3


def test_every_cell_of_the_students_that_binds_or_changes_a_name_is_run():
    pairs = (("", "d = {}"), ("", "d['a'] = 1"), ("", "e = 1"), ("answer", "double = d['a']"))
    assert sources(*pairs) == ["d = {}", "d['a'] = 1", "double = d['a']"]


def test_an_earlier_answer_that_is_asked_by_its_handle_is_run():
    pairs = [("", "double = 2"), ("answer", "triple = ex.DOUBLE.answer + 1")]
    assert sources(*pairs) == ["double = 2", "triple = ex.DOUBLE.answer + 1"]
