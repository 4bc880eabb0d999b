"""Reports on the corpus of broken and healthy runs are short, plain, and do not contradict."""

import re
from statistics import median

import door_runs
import pytest
from contradictions import PAIRS, contradictions
from whole import IS_WHOLE, cases

from benchmarks.diagnostics import tools
from benchmarks.diagnostics.halves import SEEDS, half_of
from course_utils import incidents
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.report.report import Diagnosis
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.incidents import healthy

KEYS_OF_OLD = re.compile(r"^\s*(and|said|so|harm|against it):|it explains:|\bmend\b", re.MULTILINE)
NO_PLACE = re.compile(r"^Place: (step|entry|line) \d+\.$|^Place: (div|mul|learning_rate)\.$", re.M)
FIRST, MOST = 8, 15


def kind_of(name: str) -> str:
    return incidents.load_incident(name).kind


def report_on(run) -> Diagnosis:
    """What `diagnose` says of a run that it rides along with."""
    reports = []
    parts = {name: run.parts[name] for name in tools.PARTS if name in run.parts}
    if run.trainer is None:
        parts["log"] = run.log
    ride = diagnose.watching(
        run.trainer or run.model, probe_rewards=True, then=reports.append, **parts
    )
    try:
        with ride:
            run.start()
            run.facts()
    except Exception as error:
        assert type(error).__name__ in reports[0].ended
    return reports[0]


def is_well_formed(report: Diagnosis) -> int:
    """Check what holds for every report; its number of lines."""
    text = str(report)
    lines = text.split("\n")
    assert list(contradictions(report)) == [], f"{text}\n{report.details}"
    assert not KEYS_OF_OLD.search(text) and not NO_PLACE.search(text), text
    if report.causes:
        assert any(line.startswith("Fix: ") for line in lines[:FIRST]), text
    return len(lines)


@pytest.fixture(scope="module")
def lengths():
    return []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", cases(incidents.names(), kind=kind_of))
def test_a_report_on_a_broken_run_names_it_first_in_plain_lines(name, lengths):
    incident = incidents.load_incident(name)
    report = report_on(incident.make("broken", SEEDS[half_of(name)]))
    assert report.causes and incident.is_named_by(report.causes[0].key), str(report)
    lengths.append(is_well_formed(report))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", cases(incidents.names()))
def test_a_report_on_a_healthy_twin_names_nothing(name, lengths):
    report = report_on(incidents.load_incident(name).make("twin", SEEDS[half_of(name)]))
    assert not report.causes, f"{report}\n{report.details}"
    lengths.append(is_well_formed(report))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", cases(incidents.names(healthy)))
def test_a_report_on_a_healthy_run_shows_what_a_reader_would_look_at(name, lengths):
    report = report_on(incidents.load_look_alike(name).make(SEEDS[half_of(name)]))
    assert report.is_healthy and report.rows and len(report.look_next) == 3, str(report)
    lengths.append(is_well_formed(report))


@pytest.mark.parametrize("name", door_runs.RUNS)
def test_a_report_on_a_small_run_is_well_formed(name, lengths):
    lengths.append(is_well_formed(diagnose(door_runs.RUNS[name](), steps=4)))


@pytest.mark.skipif(not IS_WHOLE, reason="needs the reports of all runs: `make prove` does it")
def test_the_median_report_has_at_most_fifteen_lines(lengths):
    assert len(lengths) > len(door_runs.RUNS) and median(lengths) <= MOST, sorted(lengths)


def test_contradictions_are_seen():
    sheet = Sheet()
    sheet.find("rate_zero", COUNTED, "step 8: loss 0, before it step 8: loss 0")
    sheet.clear("weights that move", "100% in a step; 0 of 50 tensors never did")
    sheet.clear("policy", "it does not move")
    assert len(list(contradictions(Diagnosis.of("a run", sheet)))) == 2
    assert len(PAIRS) == len(set(PAIRS))
