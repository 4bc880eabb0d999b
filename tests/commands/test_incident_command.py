"""`course incident`: the list by kind, a run and its twin, and names that do not exist."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from course_utils import incidents
from course_utils.causes.kinds import CLASSES
from course_utils.commands.group import course
from course_utils.shown.ending import BAD_INPUT

QUICK = "token_outside_the_table"
VERL = "one_reply_a_group"


def said(*arguments, code=0):
    result = CliRunner().invoke(course, ["incident", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_the_list_has_every_incident_once_with_its_title_and_kind():
    lines = said("--list").splitlines()
    assert said() == said("--list")
    for name in incidents.names():
        title = incidents.declaration(name)["title"]
        assert [line.split() for line in lines].count([name, *title.split()]) == 1
    kinds = [line.partition(":")[0] for line in lines if not line.startswith("  ")][:-1]
    assert kinds == [kind for kind in CLASSES if kind in kinds]


def test_the_list_takes_no_torch():
    code = "import sys; from course_utils.commands.group import course; "
    code += "course(['incident'], 'course', None, False); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_a_broken_run_says_what_people_saw_its_error_and_its_fix():
    text = " ".join(said(QUICK).split())
    one = incidents.load_incident(QUICK)
    for part in (one.title, one.says, *one.threads, "IndexError: ", one.cause, one.fix):
        assert part in text
    assert "the symptom shows: yes" in text


def test_its_twin_prints_a_healthy_log():
    text = said(QUICK, "--twin")
    assert "its healthy twin" in text and "the symptom shows: no" in text
    assert "{'loss': '" in text and "IndexError: " not in text.partition("The log of")[2]


@pytest.mark.filterwarnings(r"ignore:std\(\). degrees of freedom is <= 0")  # the failure itself
def test_a_verl_run_prints_its_log_as_verl_does():
    text = said(VERL)
    assert "\nstep:1 - " in text and "actor/grad_norm:nan" in text
    assert "instrument: " in text


@pytest.mark.parametrize("name", ["stops_at_other_id", "stops"])
def test_an_unknown_name_gets_near_ones(name):
    assert "stops_at_another_id" in said(name, code=BAD_INPUT)
