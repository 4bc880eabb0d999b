"""Every incident shows its symptom, its twin does not, its fix heals it; look-alikes are healthy.

One seed an incident, drawn by its name, and none of the costly ones; INCIDENTS_ALL=1 takes three of
all. `make incidents` runs the same three, and writes what each showed and cost into
docs/incidents.md.
"""

import os
import zlib
from pathlib import Path

import pytest

from course_utils import incidents
from course_utils.explain.causes import CAUSES
from course_utils.incidents import broken, healthy, proof
from course_utils.incidents.declare import CLASSES

BROKEN, HEALTHY = incidents.names(), incidents.names(healthy)
ALL = bool(os.environ.get("INCIDENTS_ALL"))
NUM_SEEDS, MOST_LINES = 3, 120
COSTLY = {  # five CPU seconds or more a seed
    *("coefficient_of_another_kl", "entropy_paid_for", "exp_before_clamp", "k1_in_the_loss"),
    *("short_beats_right", "sign_of_the_length", "substring_verifier", "system_prompt_in_trainer"),
}
LESSONS = {
    path.stem for path in Path(__file__).parents[1].joinpath("solutions").glob("[0-9][0-9]_*.py")
}


def with_seeds(names):
    """Pairs of a name and a seed: all, or of the cheap ones the seed that the name decides."""
    return [
        (name, seed)
        for name in names
        if ALL or name not in COSTLY
        for seed in (range(NUM_SEEDS) if ALL else [zlib.crc32(name.encode()) % NUM_SEEDS])
    ]


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")  # clues, and shown
@pytest.mark.filterwarnings(r"ignore:std\(\). degrees of freedom is <= 0")
@pytest.mark.parametrize(("name", "seed"), with_seeds(BROKEN))
def test_the_broken_run_shows_its_symptom_and_no_other_does(name, seed):
    seen = proof.shown(name, seed)
    assert proof.is_proved(seen), seen


@pytest.mark.parametrize(("name", "seed"), with_seeds(HEALTHY))
def test_a_run_that_only_looks_broken_is_healthy(name, seed):
    assert proof.holds(name, seed)


@pytest.mark.parametrize("name", BROKEN)
def test_what_an_incident_refers_to_exists(name):
    incident = incidents.load_incident(name)
    assert incident.name == name
    assert incident.kind in CLASSES
    assert set(incident.causes) <= set(CAUSES)
    assert incident.lesson in LESSONS | {""}
    assert incident.threads and all("#" in thread for thread in incident.threads)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_look_alike_is_named_as_its_module_and_has_a_thread(name):
    look_alike = incidents.load_look_alike(name)
    assert look_alike.name == name and all("#" in thread for thread in look_alike.threads)


def test_no_name_is_taken_twice():
    assert not set(BROKEN) & set(HEALTHY)
    assert set(BROKEN) > COSTLY


def test_no_module_is_long():
    for package in (broken, healthy):
        for path in Path(package.__file__).parent.glob("*.py"):
            assert len(path.read_text().splitlines()) <= MOST_LINES, path.name
