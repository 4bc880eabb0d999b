"""A ticket with a budget: what is closed is not in the folder, and each look is paid for once."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_utils.commands.group import course
from course_utils.errors import BadRequest
from course_utils.oncall import actions, budget, check, folder, instruments, prices
from course_utils.oncall.declare import Verdict
from course_utils.oncall.training import Trained

LOG = "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.001}\n" * 3


class Trainers:
    """Trains nothing: tells which files it was given, and leaves a log and an adapter."""

    given = ()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def train(self, files, base, *, seed):
        type(self).given = files
        left = {"run/adapter/weights.bin": b"1", "run/adapter/settings.json": b"{}"}
        return Trained(0, LOG, left)


@pytest.fixture
def ticket(tmp_path, monkeypatch):
    monkeypatch.setattr(actions, "Trainers", Trainers)
    monkeypatch.setattr(instruments, "Trainers", Trainers)
    monkeypatch.chdir(tmp_path)
    actions.open_ticket(tmp_path / "t", seed=8, level=2, num_looks=6)
    return tmp_path / "t"


def names_in(of):
    return {path.relative_to(of).as_posix() for path in of.rglob("*") if path.is_file()}


def course_oncall(*arguments):
    return CliRunner().invoke(course, ["oncall", *arguments])


def test_at_first_the_ticket_and_the_form_are_all_there_is(ticket):
    assert names_in(ticket) == {*budget.OPEN, budget.CLOSED}
    letter = (ticket / folder.TICKET).read_text(encoding="utf-8")
    for thing in ("config.yaml", "train.py", "base", "run/adapter", budget.LOG):
        assert f"    {thing} " in letter
    assert letter.count("# Ticket") == 1 and max(map(len, letter.splitlines())) <= 100


def test_a_look_opens_one_thing_as_it_was_handed_out_and_a_checkpoint_as_a_whole(ticket):
    handed = folder.handed_out(folder.read(ticket))[1]
    said = course_oncall("look", "./config.yaml", str(ticket))
    assert said.exit_code == 0 and "looks: 3 of 6 (config.yaml)" in said.output
    assert (ticket / "config.yaml").read_text(encoding="utf-8") == handed["config.yaml"]
    assert "looks: 4 of 6" in budget.look(ticket, "run/adapter/")
    opened = {"config.yaml", "run/adapter/weights.bin", "run/adapter/settings.json"}
    assert names_in(ticket) == {*budget.OPEN, budget.CLOSED, *opened}


def test_the_log_is_explained_and_stays_closed(ticket):
    said = budget.look(ticket, prices.EXPLAIN)
    assert "grad_norm" in said and "looks: 1 of 6 (explain)" in said
    assert not (ticket / "run").exists()


def test_diagnose_watches_a_training_of_the_files_and_costs_more_than_one(ticket, monkeypatch):
    given = {}

    def watched(files, base):
        given.update(files)
        return "cause: none\n"

    monkeypatch.setitem(instruments.ON_FILES, prices.DIAGNOSE, watched)
    said = budget.look(ticket, prices.DIAGNOSE)
    assert "cause: none" in said and "looks: 3 of 6 (diagnose)" in said
    assert given == folder.handed_out(folder.read(ticket))[1] and not (ticket / "train.py").exists()


def test_every_instrument_that_can_be_looked_with_has_a_price_and_says_it(ticket):
    letter = (ticket / folder.TICKET).read_text(encoding="utf-8")
    assert {prices.EXPLAIN, *instruments.ON_FILES} == set(prices.INSTRUMENTS)
    for name, costs in prices.INSTRUMENTS.items():
        assert f"    {name:<24}{costs:>3}\n" in letter and prices.price(name) == costs


def test_the_page_about_the_commands_says_each_price():
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"\n\| (.+?) \| (\d|the first .+?) \|", page))
    assert rows["a file of code or settings"] == str(prices.price("train.py"))
    assert rows["data, a log, a checkpoint"] == str(prices.price("base"))
    said = {name: costs for row, costs in rows.items() for name in re.findall(r"^`(\w+)`", row)}
    assert said == {name: str(costs) for name, costs in prices.INSTRUMENTS.items()}
    check = rows["`course oncall check`"]
    assert check == f"the first is free, each further one {prices.OF_CHECK}"


def test_the_first_check_is_free_and_each_further_one_costs_as_a_training(ticket):
    assert course_oncall("check", str(ticket)).exit_code == 1
    assert budget.bill(ticket).paid == ()
    for number in (1, 2, 3):
        assert course_oncall("check", str(ticket)).exit_code == 1
        assert budget.bill(ticket).paid == (prices.CHECK,) * number
    refused = course_oncall("check", str(ticket))
    assert refused.exit_code == 2 and "check costs 2, and 0 of 6 looks are left" in refused.output
    assert budget.bill(ticket).spent == 6


def test_checks_are_free_where_looks_are(tmp_path, monkeypatch):
    monkeypatch.setattr(actions, "Trainers", Trainers)
    monkeypatch.chdir(tmp_path)
    actions.open_ticket(tmp_path / "t", seed=8, level=2)
    for _ in range(3):
        assert course_oncall("check", str(tmp_path / "t")).exit_code == 1


def test_training_takes_the_edited_files_with_the_closed_ones(ticket):
    handed = folder.handed_out(folder.read(ticket))[1]
    budget.look(ticket, "config.yaml")
    edited = f"# edited\n{handed['config.yaml']}"
    (ticket / "config.yaml").write_text(edited, encoding="utf-8")
    said = budget.look(ticket, prices.TRAIN)
    assert Trainers.given == handed | {"config.yaml": edited}
    assert LOG.strip() in said and "looks: 5 of 6 (config.yaml, train)" in said


@pytest.mark.parametrize(
    ("opened", "thing", "saw"),
    [
        ((), "answer.md", "there is no 'answer.md' to look at"),
        ((), "../t/config.yaml", "there is no"),
        (("config.yaml",), "config.yaml", "config.yaml is open already"),
        (("train", "config.yaml"), "train", "train costs 2, and 1 of 6 looks are left"),
        (("train", "train"), "train.py", "train.py costs 3, and 2 of 6 looks are left"),
    ],
)
def test_what_cannot_be_had_is_refused_and_costs_nothing(opened, thing, saw, ticket):
    for one in opened:
        budget.look(ticket, one)
    paid = budget.bill(ticket)
    said = course_oncall("look", thing, str(ticket))
    assert said.exit_code == 2 and saw in said.output
    assert budget.bill(ticket) == paid


def test_a_look_at_a_ticket_without_a_budget_says_that_it_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(actions, "Trainers", Trainers)
    actions.open_ticket(tmp_path / "t", seed=8, level=2)
    with pytest.raises(BadRequest, match="has no budget"):
        budget.look(tmp_path / "t", "config.yaml")
    assert budget.bill(tmp_path / "t") is None


def test_what_is_closed_is_judged_as_it_was_handed_out(ticket):
    drawn = folder.read(ticket)
    healthy, handed = folder.handed_out(drawn)
    [fixed] = [name for name in handed if handed[name] != healthy[name]]
    budget.look(ticket, fixed)
    (ticket / fixed).write_text(healthy[fixed], encoding="utf-8")

    class Judge:
        def verdict(self, case, files, *, seed, healthy, handed):
            return Verdict((), {}) if files == healthy else Verdict(("other files",), {})

        def strays(self, *_, **__):
            return ""

    assert check.check(ticket, drawn, Judge).is_fixed


def test_the_bill_is_part_of_the_outcome(ticket):
    budget.look(ticket, budget.LOG)
    said = course_oncall("check", "--json", str(ticket))
    assert said.exit_code == 1
    assert json.loads(said.output[said.output.index("{") :]) | {"looks": 1, "budget": 6} == (
        json.loads(said.output[said.output.index("{") :])
    )
    assert "looks: 3 of 6 (run/console.log, check)" in course_oncall("check", str(ticket)).output
