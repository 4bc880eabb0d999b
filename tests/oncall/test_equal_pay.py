"""A run whose rewards pay every reply the same; who learns from something else is told by it."""

import pytest
from whole import cases as some

from benchmarks.oncall import mends
from course_utils.oncall import check as checks
from course_utils.oncall import folder, mechanism
from course_utils.oncall.equal_pay import with_equal_pay
from course_utils.oncall.proving import Judge
from course_utils.oncall.training import Trained, Trainers

PAID = """from __future__ import annotations
import functools
import math


def pays(text, answer):
    return [float(text == answer), 2]

class Desk:
    @functools.cache
    def pays(self, text, answer):
        return math.nan if text == answer else (1.0, None)

form = lambda text: len(text)
as_array = lambda text: Array([len(text)])

def rewards(text, answer):
    return pays(text, answer), Desk().pays(text, answer), form(text), as_array(text)

class Array(list):
    shape = (1,)
    def __mul__(self, factor):
        return [one * factor for one in self]
"""
BEGINS_ON = {"pays": 6, "Desk.pays": 10, "form": 14, "rewards": 17}


def paid_by(lines):
    scope = {}
    places = {("pay.py", line) for line in lines}
    exec(with_equal_pay({"pay.py": PAID, "train.py": ""}, places)["pay.py"], scope)
    return scope["rewards"]("12", "12"), scope["pays"].__name__


def test_what_begins_on_these_lines_pays_nothing_and_the_rest_as_before():
    (of_function, of_method, of_lambda, _), name = paid_by([BEGINS_ON["pays"], BEGINS_ON["form"]])
    assert of_function == [0.0, 0] and of_lambda == 0 and name == "pays"
    assert of_method != of_method
    (of_function, of_method, of_lambda, _), _ = paid_by([BEGINS_ON["Desk.pays"]])
    assert of_function == [1.0, 2] and of_lambda == 2 and of_method == 0


def test_each_shape_of_pay_keeps_its_shape():
    (of_function, of_method, of_lambda, of_array), _ = paid_by([BEGINS_ON["rewards"]])
    assert of_function == [0.0, 0] and of_array == [0] and of_lambda == 0 and of_method == 0


def test_other_files_stay_as_they_are():
    files = {"pay.py": PAID, "train.py": "x = 1  # kept\n"}
    assert with_equal_pay(files, {("gone.py", 1)}) == files
    assert with_equal_pay(files, {("pay.py", 6)})["train.py"] == files["train.py"]


def test_where_a_run_pays_is_read_of_runs_that_pay_alone():
    seen = [{"replies": ["7"], "paid": 1.0}, {"file": "pay.py", "line": 6}]
    assert mechanism.paid_in("rl_loop", Trained(0, seen=seen)) == {("pay.py", 6)}
    assert mechanism.paid_in("prep_rows", Trained(0, seen=[[1, 2]])) == set()


# --- by training --------------------------------------------------------------------------------

UNPAID = [one for one in mends.kept()[1] if "thrown away" in one.what and one.first["fixed"]]
PAYING = [
    one
    for one in mends.kept()[1]
    if one.must_be_solved and one.case in ("brevity_beats_truth", "begins_like_the_answer")
]


@pytest.fixture(scope="module")
def judge():
    with Trainers() as trainers:
        yield Judge(trainers)


def held_against_equal_pay(judge, mend):
    files = mend.files()
    assert files, "the ticket is written in another way now"
    healthy, _ = folder.handed_out(mend.ticket)
    seed = next(checks.seeds_of(mend.ticket))
    return judge.strays(folder.case_of(mend.ticket), files, seed=seed, healthy=healthy)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mend", some(UNPAID), ids=lambda one: one.what.partition(":")[0])
def test_a_verifier_that_is_called_and_not_used_is_told(judge, mend):
    """Two hand-ins that won: one step against silence, and half a verifier written inline."""
    assert "does not learn from its rewards" in held_against_equal_pay(judge, mend)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mend", some(PAYING, lambda one: one.case), ids=lambda one: one.case)
def test_a_fix_that_learns_from_its_rewards_is_not_told(judge, mend):
    """One pays in a function that another reward function calls as well."""
    assert held_against_equal_pay(judge, mend) == ""
