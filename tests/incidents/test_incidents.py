"""Every incident shows its symptom, its twin does not, its fix heals it; look-alikes are healthy.

By default one incident of each kind and every other look-alike, with a seed that their names draw;
INCIDENTS_ALL=1 takes three seeds of all. `make incidents` runs the same three, and writes what each
showed and cost into docs/incidents.md.
"""

import os
import zlib
from pathlib import Path

import pytest

from course_utils import incidents
from course_utils.causes import CAUSES
from course_utils.causes.kinds import CLASSES, TAUGHT
from course_utils.incidents import broken, healthy, proof

BROKEN, HEALTHY = incidents.names(), incidents.names(healthy)
ALL = bool(os.environ.get("INCIDENTS_ALL"))
NUM_SEEDS, MOST_LINES = 3, 120
LESSONS = {
    path.stem for path in Path(__file__).parents[2].joinpath("solutions").glob("[0-9][0-9]_*.py")
}


def one_of_each_kind():
    return {incidents.load_incident(name).kind: name for name in reversed(BROKEN)}.values()


def with_seeds(names, few):
    """Pairs of a name and a seed."""
    if ALL:
        return [(name, seed) for name in names for seed in range(NUM_SEEDS)]
    return [(name, zlib.crc32(name.encode()) % NUM_SEEDS) for name in few]


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")  # clues, and shown
@pytest.mark.filterwarnings(r"ignore:std\(\). degrees of freedom is <= 0")
@pytest.mark.parametrize(("name", "seed"), with_seeds(BROKEN, one_of_each_kind()))
def test_the_broken_run_shows_its_symptom_and_no_other_does(name, seed):
    seen = proof.shown(name, seed)
    assert proof.is_proved(seen), seen


@pytest.mark.parametrize(("name", "seed"), with_seeds(HEALTHY, HEALTHY[::2]))
def test_a_run_that_only_looks_broken_is_healthy(name, seed):
    assert proof.holds(name, seed)


@pytest.mark.parametrize("name", BROKEN)
def test_what_an_incident_refers_to_exists(name):
    incident = incidents.load_incident(name)
    assert incident.name == name
    assert incident.kind in CLASSES
    assert set(incident.causes) <= set(CAUSES)
    assert incident.lesson in LESSONS | {""}
    assert incident.lesson == TAUGHT.get(incident.kind, incident.lesson)
    assert incident.threads and all("#" in thread for thread in incident.threads)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_look_alike_is_named_as_its_module_and_has_a_thread(name):
    look_alike = incidents.load_look_alike(name)
    assert look_alike.name == name and all("#" in thread for thread in look_alike.threads)


def test_no_name_is_taken_twice():
    assert not set(BROKEN) & set(HEALTHY)


def test_no_module_is_long():
    for package in (broken, healthy):
        for path in Path(package.__file__).parent.glob("*.py"):
            assert len(path.read_text().splitlines()) <= MOST_LINES, path.name
