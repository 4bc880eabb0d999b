"""Healthy runs among the tickets: to say so is right, to change one is a false fix."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest
import yaml
from whole import cases as some

from course_utils.box.kind import NO_BOX, Kind
from course_utils.causes.kinds import CLASSES
from course_utils.errors import GraderFailed
from course_utils.oncall import cases, check, folder, odd_but_fine, report, templates
from course_utils.oncall.bench import drawing, running
from course_utils.oncall.bench.stored import Protocol
from course_utils.oncall.declare import Verdict
from course_utils.oncall.odd_but_fine import ODD
from course_utils.oncall.training import Trained, Trainers

HEALTHY = folder.ticket_of(8, 1, cases.load("healthy_sft_lora"))
NONE = "faults: none\n"


class NoTrainers:
    """Trains nothing, and leaves a log."""

    kind = Kind(NO_BOX, "of a test")

    def train(self, files, base, *, seed, look_at=""):
        return Trained(0, "{'loss': 1.0}\n", {})


def no_judge():
    raise AssertionError("a healthy ticket is judged without a training")


def judged(now, text):
    return check.judged(HEALTHY, now, text, no_judge, report_alone=True)


@pytest.fixture
def handed():
    return folder.handed_out(HEALTHY)[1]


# --- what is right ------------------------------------------------------------------------------


def test_a_healthy_run_that_is_left_alone_and_called_healthy_is_solved(handed):
    for text in (NONE, "faults: []", "faults: None"):
        assert judged(handed, text).is_solved
    assert judged(handed | {"look_at_it.py": "print(1)\n"}, NONE).is_solved  # a script of its own


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "faults:\n",
        "a: [",
        report.form(1, or_none=True),
        yaml.safe_dump({"faults": [{"file": "train.py", "where": "1", "class": "rate"}]}),
    ],
)
def test_one_that_is_left_alone_without_a_word_or_blamed_is_not_solved_and_no_false_fix(
    text, handed
):
    outcome = judged(handed, text)
    assert outcome.is_fixed and not outcome.is_solved


def test_every_change_of_a_file_is_a_false_fix_whatever_the_report_says(handed):
    changed = handed | {"config.yaml": f"{handed['config.yaml']}# looked at\n"}
    gone = {name: text for name, text in handed.items() if name != "data/train.jsonl"}
    for now in (changed, gone):
        outcome = judged(now, NONE)
        assert not outcome.is_fixed and not outcome.is_solved
        assert "the run was healthy" in outcome.problems[0]


def test_a_broken_run_is_not_solved_by_saying_that_nothing_is_wrong():
    ticket = folder.ticket_of(8, 2)
    handed = folder.handed_out(ticket)[1]
    outcome = check.judged(ticket, handed, NONE, no_judge, report_alone=True)
    assert not outcome.is_fixed and not outcome.is_solved
    assert outcome.reported.problem == "it says that nothing is wrong"


# --- what is drawn ------------------------------------------------------------------------------


def healthy_in(found):
    return {name: folder.case_of(t).id for name, t in found if not folder.case_of(t).faults}


def test_a_share_of_the_tickets_is_healthy_and_the_others_are_those_drawn_without_them():
    without = dict(drawing.tickets(5, (1, 2, 3), 8))
    some_are = dict(drawing.tickets(5, (1, 2, 3), 8, drawing.HEALTHY))
    healthy = healthy_in(some_are.items())
    assert healthy_in(without.items()) == {} and without.keys() == some_are.keys()
    assert [name[0] for name in healthy] == ["1", "1", "2", "2", "3", "3"]
    assert len(set(healthy.values())) == 6
    for name in without.keys() - healthy.keys():
        assert without[name].mark == some_are[name].mark
    assert all(str(ticket.level) == name[0] for name, ticket in some_are.items())


def test_no_healthy_ticket_is_drawn_twice_and_none_for_a_reader():
    every = healthy_in(drawing.tickets(9, (1, 2, 3), 60, 0.5))
    assert sorted(every.values()) == sorted(odd_but_fine.names())
    assert not {*odd_but_fine.names()} & {*cases.names(), *cases.proved()}


@pytest.mark.parametrize("level", folder.LEVELS)
def test_folder_letter_and_form_do_not_tell_a_healthy_run(level, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "_is_sound", lambda *_: True)
    tickets = {"broken": folder.ticket_of(8, level), "healthy": replace(HEALTHY, level=level)}
    written = {name: tmp_path / name for name in tickets}
    for name, place in written.items():
        drawing.write(place, tickets[name], NoTrainers(), may_be_healthy=True)
    forms = [(place / report.NAME).read_text() for place in written.values()]
    assert forms[0] == forms[1] and f"`faults: {report.NONE}`" in forms[0]
    for place in written.values():
        letter = (place / folder.TICKET).read_text(encoding="utf-8")
        assert letter.count("## Or nothing") == 1
        assert max(map(len, letter.splitlines())) <= 100


def test_where_no_run_is_healthy_letter_and_form_are_those_of_a_reader(tmp_path):
    ticket = folder.ticket_of(8, 1)
    drawing.write(tmp_path / "bench", ticket, NoTrainers(), may_be_healthy=False)
    folder.write(tmp_path / "new", ticket, NoTrainers())
    for name in (folder.TICKET, report.NAME):
        assert (tmp_path / "bench" / name).read_text() == (tmp_path / "new" / name).read_text()


def test_a_healthy_ticket_whose_own_run_is_not_healthy_is_drawn_again(tmp_path, monkeypatch):
    verdicts = iter([Verdict(("by chance",), {}), Verdict((), {})])
    monkeypatch.setattr(drawing.judging, "judged", lambda *_: next(verdicts))
    ticket = replace(HEALTHY, level=3)
    drawn = drawing.write(tmp_path / "t", ticket, NoTrainers(), may_be_healthy=True)
    assert (drawn.seed, drawn.level) == (HEALTHY.seed + 1, 3)
    assert folder.read(tmp_path / "t").seed == drawn.seed


def test_where_no_run_of_a_healthy_ticket_is_healthy_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "_is_sound", lambda *_: False)
    with pytest.raises(GraderFailed, match="no healthy run of sft_lora"):
        drawing.write(tmp_path / "t", HEALTHY, NoTrainers(), may_be_healthy=True)
    assert not (tmp_path / "t").exists()


# --- in a bench ---------------------------------------------------------------------------------

SAYS_NONE = "printf 'faults: none' > report.yaml"


@pytest.mark.parametrize(
    ("command", "solved", "false_fix", "budget"),
    [
        (SAYS_NONE, True, False, None),
        ("true", False, False, None),
        (f"{SAYS_NONE}; echo '# 1' >> config.yaml", False, True, None),
        (f"{SAYS_NONE}; python3 look config.yaml; echo '# 1' >> config.yaml", False, True, 6),
        (f"{SAYS_NONE}; python3 look config.yaml", True, False, 6),
    ],
)
def test_a_bench_scores_a_healthy_ticket(command, solved, false_fix, budget, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "_is_sound", lambda *_: True)
    protocol = Protocol(
        ("sh", "-c", command), (3,), 1, 60.0, False, "a" * 12, budget=budget, healthy=1.0
    )
    [score] = running.scores(protocol, 5, tmp_path / "out", NoTrainers())
    assert (score.level, score.faults, score.is_healthy) == (3, 0, True)
    assert (score.solved, score.is_false_fix) == (solved, false_fix)
    assert score.looks == (budget and 3)


# --- the letters --------------------------------------------------------------------------------


def test_each_letter_is_about_a_run_that_exists_and_names_no_class_and_no_file():
    assert set(ODD) <= set(templates.names()) and set(ODD) == set(TRUE)
    for name, odd in ODD.items():
        said = odd.ticket.lower()
        for kind in CLASSES:
            assert not re.search(rf"\b{kind.replace('_', ' ')}\b", said), (name, kind)
        assert not re.search(r"\w\.(py|yaml|jsonl)\b", said) and "healthy" not in said, name
        assert odd.why


def numbers(log, name):
    return [float(n) for n in re.findall(rf"{name}'?: ?'?(-?[\d.]+(?:e-?\d+)?)", log)]


def steps_up(values, factor=1.0):
    """How many values are more than `factor` times the one before."""
    return sum(after > factor * before for before, after in pairwise(values))


# By run, whether a log shows what the letter says.
TRUE = {
    "sft_lora": lambda log: (
        max(numbers(log, "learning_rate")) > 2e-3
        and max(numbers(log, "grad_norm")[:3]) > 5
        and 13 < numbers(log, "trainable%")[0] < 16
    ),
    "choose_checkpoint": lambda log: (
        (scores := numbers(log, "exact_match"))[-1] == min(scores[5:])
        and scores[-1] < 0.5 * max(scores)
        and int(re.search(r"checkpoint (\d+) in", log)[1]) < 120
    ),
    "distil_loop": lambda log: (
        steps_up(numbers(log, "'loss")[-10:]) >= 3 and max(numbers(log, "grad_norm")[:4]) > 15
    ),
    "dpo_digits": lambda log: (
        numbers(log, "'loss")[0] == numbers(log, "'loss")[1] == 0.6931
        and 0.5 < sum(numbers(log, "'loss")[-6:]) / 6 < 0.65
    ),
    "export_serve": lambda log: "12+30= 53" in log and "47+25= 63" in log,
    "grpo_sums": lambda log: (
        max(losses := numbers(log, "'loss")) < 0.05
        and sum(losses[-4:]) > sum(losses[:4])
        and len(set(numbers(log, "learning_rate"))) == 1
    ),
    "kto_votes": lambda log: (
        0.6 < (losses := numbers(log, "'loss"))[0] < 1
        and 0.55 < sum(losses[-6:]) / 6 < 0.75
        and steps_up(losses) >= 4
        and 0 in (kl := numbers(log, "'kl"))[1:]
        and max(kl) > 0.4
    ),
    "own_loop": lambda log: (
        log.count("resumed at") == 3
        and numbers(log, "learning_rate")[-1] < 1e-6
        and steps_up(numbers(log, "'loss"), 2)
    ),
    "packed_ids": lambda log: (
        steps_up(late := numbers(log, "'loss")[-11:]) >= 2
        and max(late) > min(numbers(log, "'loss")[:-8])
    ),
    "prep_rows": lambda log: "done" in log,  # that the desk answers in cents is in its data
    "reward_pairs": lambda log: (
        "MISSING" in log
        and sum(value < 0 for value in numbers(log, "mean_reward"))
        >= len(numbers(log, "mean_reward")) / 2
    ),
    "rl_loop": lambda log: (
        sum((idle := numbers(log, "groups_without_signal"))[:3]) / 3 < 0.4
        and 0.4 <= sum(idle[-4:]) / 4 <= 0.65
        and sum(numbers(log, "pg_clipfrac")[-5:]) / 5 < 0.01
    ),
    "step_marks": lambda log: (
        min((losses := numbers(log, "'loss"))[:2]) > 0.5
        and min(losses) < 0.2 * losses[0]
        and steps_up(losses[-10:]) >= 2
    ),
    "sum_checker": lambda log: (
        numbers(log, "'epoch")[-1] == 2.25 and steps_up(numbers(log, "'loss")[-10:]) >= 3
    ),
    "teacher_replies": lambda log: (
        (losses := numbers(log, "'loss"))[0] < 0.35
        and max(losses[1:]) > 1.5 * losses[0]
        and max(numbers(log, "grad_norm")[1:]) > 10
    ),
    "tokenised_rows": lambda log: steps_up(numbers(log, "'loss")[-6:]) >= 1,
    "two_ranks": lambda log: (
        sum(numbers(log, "rank_1")[-10:]) > 2 * sum(numbers(log, "rank_0")[-10:])
    ),
}


@pytest.fixture(scope="module")
def trainers():
    with Trainers() as made:
        yield made


@pytest.mark.parametrize("name", some(TRUE))
def test_a_letter_is_true_of_a_healthy_run(name, trainers, tmp_path):
    ticket = folder.ticket_of(1, 1, cases.load(f"healthy_{name}"))
    drawing.write(tmp_path / "t", ticket, trainers, may_be_healthy=True)
    assert TRUE[name]((tmp_path / "t" / "run" / "console.log").read_text())
