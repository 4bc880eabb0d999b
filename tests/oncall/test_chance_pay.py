"""A run whose rewards pay by chance; who learns from something else is told by it."""

import pytest
from whole import cases as some

from benchmarks.oncall import mends
from course_utils.oncall import check as checks
from course_utils.oncall import folder, mechanism, spread, templates
from course_utils.oncall.chance_pay import with_chance_pay
from course_utils.oncall.judging import learns_unpaid
from course_utils.oncall.proving import Judge
from course_utils.oncall.result import Result
from course_utils.oncall.training import Trained, Trainers

PAID = """from __future__ import annotations
import functools
import torch


def pays(text, answer):
    return [float(text == answer), 2]

class Desk:
    @functools.cache
    def pays(self, text, answer):
        return float(text == answer), None

form = lambda text: len(text)
twice = (lambda text: 10 * len(text)), (lambda text: 100 * len(text))

def batch(texts):
    return torch.tensor([float(len(text)) for text in texts])
"""
TEXTS = ["1" * number for number in range(1, 9)]


def scope_of(*places):
    scope = {}
    files = with_chance_pay({"pay.py": PAID, "train.py": ""}, {("pay.py", *one) for one in places})
    exec(files["pay.py"], scope)
    return scope


def test_what_begins_there_pays_what_some_earlier_reply_has_earned():
    scope = scope_of((6, -1))
    paid = [scope["pays"](text, "1")[0] for text in TEXTS]
    assert paid != [1.0] + [0.0] * 7 and set(paid) <= {0.0, 1.0, 2} and any(paid)
    assert scope["pays"].__name__ == "pays" and scope["Desk"]().pays("1", "1") == (1.0, None)


def test_methods_and_lambdas_are_told_apart_by_their_columns():
    desk = scope_of((10, -1))["Desk"]()
    paid = [desk.pays(text, "1") for text in TEXTS]
    assert {one[1] for one in paid} == {None} and [one[0] for one in paid] != [1.0] + [0.0] * 7
    form = scope_of((14, 20))["form"]
    assert [form(text) for text in TEXTS] != list(range(1, 9))
    ten, hundred = scope_of((15, PAID.splitlines()[14].index("100")))["twice"]
    assert [ten(text) for text in TEXTS] == [10 * n for n in range(1, 9)]
    assert [hundred(text) for text in TEXTS] != [100 * n for n in range(1, 9)]


def test_a_batch_of_pay_changes_places():
    paid = scope_of((17, -1))["batch"](TEXTS).tolist()
    assert sorted(paid) == list(range(1, 9)) and paid != sorted(paid)


@pytest.mark.parametrize("place", [("gone.py", 1, -1), ("pay.py", 7, -1), ("pay.py", 15, 0)])
def test_what_is_not_in_the_files_cannot_be_paid_by_chance(place):
    assert with_chance_pay({"pay.py": PAID}, {place}) is None


def test_the_place_that_a_run_reports_is_read_and_forged_ones_are_none():
    seen = [{"replies": ["7"], "paid": 1.0}, {"file": "pay.py", "line": 6, "column": -1}]
    assert mechanism.paid_in(Trained(0, seen=seen)) == {("pay.py", 6, -1)}
    assert mechanism.paid_in(Trained(0, seen=[{"file": "pay.py"}])) == set()


def test_a_run_that_dies_of_pay_by_chance_is_told():
    template = templates.load("rl_loop")
    dead = Trained(1, console="AssertionError")
    said = learns_unpaid(template, spread.load(template), dead, template.base(0))
    assert "ends with an error when its replies are paid by chance" in said


# --- by training --------------------------------------------------------------------------------

WON = [one for one in mends.kept()[1] if one.author in (4, 5) and one.first["fixed"]]
UNPAID = [one for one in WON if "rl_" in one.what or "grpo_gold" in one.what]
UNSEEN = [one for one in WON if "prep_" in one.what]
PAYING = [
    one
    for one in mends.kept()[1]
    if one.must_be_solved and one.case in ("brevity_beats_truth", "begins_like_the_answer")
]


@pytest.fixture(scope="module")
def judge():
    with Trainers() as trainers:
        yield Judge(trainers)


def held_against_a_healthy_run(judge, mend):
    files = mend.files()
    assert files, "the ticket is written in another way now"
    healthy, _ = folder.handed_out(mend.ticket)
    seed = next(checks.seeds_of(mend.ticket))
    return judge.strays(folder.case_of(mend.ticket), files, seed=seed, healthy=healthy)


def name_of(mend):
    return mend.what.partition(":")[0]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [name for name, how in mechanism.LOOK_AT.items() if how == "paid"])
@pytest.mark.parametrize("seed", some([5, 6, 7, 8]))
def test_a_healthy_run_that_is_paid_by_chance_is_not_healthy(name, seed):
    template = templates.load(name)
    files, base = templates.healthy_files(template, seed), template.base(seed)
    with Trainers() as trainers:
        paid = trainers.train(files, base, seed=seed, look_at="paid")
        changed = with_chance_pay(files, mechanism.paid_in(paid))
        by_chance = trainers.train(changed, base, seed=seed)
    assert by_chance.code == 0
    assert learns_unpaid(template, spread.load(template), by_chance, base) == ""
    measured = (template.measure(Result(one.files, base)) for one in (paid, by_chance))
    print(name, seed, *("{sampled:.2f}".format(**one) for one in measured))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mend", some(UNPAID), ids=name_of)
def test_a_verifier_that_is_called_and_not_used_is_told(judge, mend):
    """Hand-ins that won: gates, asserts, forged reports, half a verifier written inline."""
    assert held_against_a_healthy_run(judge, mend)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mend", some(UNSEEN), ids=name_of)
def test_wrong_rows_that_are_hidden_are_missed(judge, mend):
    """Hand-ins that won: rows past the embedding, and a book that is full."""
    assert "and a healthy run learns from" in held_against_a_healthy_run(judge, mend)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mend", some(PAYING, lambda one: one.case), ids=lambda one: one.case)
def test_a_fix_that_learns_from_its_rewards_is_not_told(judge, mend):
    """One pays in a function that another reward function calls as well."""
    assert held_against_a_healthy_run(judge, mend) == ""
