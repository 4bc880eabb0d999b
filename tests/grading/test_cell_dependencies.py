"""The cells that an answer needs: those that bind its names, and none that only look like it."""

import ast

import pytest

from course_utils.grading.judge.cell_dependencies import literal, needed
from course_utils.grading.judge.drawn_variant import drawn
from course_utils.grading.judge.names import changed_names, names_of

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
    units = needed(cells(*pairs), "90.1", {"DOUBLE": "double"}, "double")
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


# What a student may put between the answer and its check: the check sees what it leaves.
BELOW = {
    "it is filled": ("double = {}", ["double['a'] = 1", "double |= {'b': 2}"]),
    "it is replaced": ("double = TODO", ["double = {'a': 1}"]),
    "it is mended": ("def double(x): return x", ["def double(x): return 2 * x"]),
    "a method changes it": ("double = [1, 2, 3]", ["last = double.pop()"]),
    "a function is given it": ("double = {}", ["def fill(d): d['a'] = 1", "fill(double)"]),
    "a function changes it": ("double = {}", ["def fill(): double['a'] = 1", "fill()"]),
    "a decorator changes it": (
        "double = {}",
        ["def rule(f):\n    double[f.__name__] = f", "@rule\ndef mean(): pass"],
    ),
    "what it uses comes later": ("def double(x): return more(x)", ["def more(x): return 2 * x"]),
}


@pytest.mark.parametrize("what", BELOW)
def test_what_a_student_does_between_an_answer_and_its_check_is_run(what):
    answer, below = BELOW[what]
    pairs = [("answer", answer), *(("", source) for source in below), ("check", "")]
    assert sources(*pairs) == [answer, *below]
    assert literal(cells(*pairs), "90.1", "double") == (False, None)


def test_what_only_looks_at_an_answer_is_not_run():
    pairs = [("answer", "double = [1]"), ("", "print(double, len(double))"), ("check", "")]
    assert sources(*pairs) == ["double = [1]"]
    assert literal(cells(*pairs), "90.1", "double") == (True, [1])
    pairs[0] = ("answer", "import torch\ndouble = torch.ones(1)")
    pairs[1] = ("", "own = torch.zeros(1)\nown.add_(1)")
    assert sources(*pairs) == [pairs[0][1]]
    pairs[0] = ("answer", "double = torch.ones(1)")
    pairs[1:2] = [("", "import torch\ndef run(): torch.ones(torch.seed())"), ("", "run()")]
    assert sources(*pairs) == [pairs[0][1], pairs[1][1]]


def test_what_an_answer_owes_to_a_function_that_changes_it_is_run_above_it_too():
    pairs = [("", "RULES = {}\ndef rule(f):\n    RULES[f.__name__] = f\n    return f")]
    pairs += [("", "@rule\ndef mean(a): return a"), ("", "unrelated = 1")]
    pairs += [("answer", "def double(x): return RULES['mean'](x)"), ("check", "")]
    assert sources(*pairs) == [pairs[n][1] for n in (0, 1, 3)]


def test_a_cell_that_cannot_be_read_may_bind_anything_and_is_run():
    deep = f"if 0:\n    x = a{'.b' * 1500}()"
    pairs = [("", deep), ("answer", "double = 1"), ("check", "")]
    assert sources(*pairs) == [deep, "double = 1"]
    assert literal(cells(*pairs), "90.1", "double") == (False, None)


LESSON = ("lesson", "SEED = 0"), ("lesson", "patient = ex.DOUBLE.draw(SEED)"), ("answer", "")
DRAWN = {
    "patient = ex.DOUBLE.draw(1)": [1],
    "patient = ex.DOUBLE.draw(SEED + 1)": [1],
    "mine = 2\npatient = ex.DOUBLE.draw(seed=mine % 3)": [2],
    "draw = ex.DOUBLE.draw\npatient = draw(1)": [0, 1, 2],
    "run = ex.DOUBLE\npatient = run.draw(1)": [0, 1, 2],
    "for n in range(3):\n    ex.DOUBLE.draw(n)": [0, 1, 2],
    "ex.DOUBLE.check(double)\nother.draw(2)": [0],
    "ex.OTHER.draw(2)": [0],
    "mine = 1 % 0\nex.DOUBLE.draw(1 // 0)": [0, 1, 2],
}


@pytest.mark.parametrize("source", DRAWN)
def test_the_run_that_was_drawn(source):
    found = drawn(cells(*LESSON[:2], ("", source), LESSON[2], ("check", "")), "90.1", "DOUBLE", 3)
    assert found == DRAWN[source]


def test_a_seed_that_a_student_wrote_into_the_lessons_cells_draws():
    told = cells(*LESSON, ("check", ""))
    told[0]["theirs"] = "SEED = 1"
    assert drawn(told, "90.1", "DOUBLE", 3) == [1]
    told[1]["theirs"] = "patient = ex.DOUBLE.draw(SEED + 1)"
    assert drawn(told, "90.1", "DOUBLE", 3) == [2]


def test_a_run_that_is_drawn_below_the_check_may_be_meant_as_well():
    told = cells(*LESSON, ("check", ""), ("", "ex.DOUBLE.draw(SEED + 2)"))
    assert drawn(told, "90.1", "DOUBLE", 3) == [0, 2]
