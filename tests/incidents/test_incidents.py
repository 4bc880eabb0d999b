"""Every incident shows its symptom, its twin does not, its fix heals it; look-alikes are healthy.

`make test` takes one incident of each module of the room and one look-alike, on one seed; `make
prove` takes all on three. `make incidents` runs the same three, and writes what each showed and
cost into docs/incidents.md.
"""

import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from whole import cases

from course_utils import incidents
from course_utils.causes import CAUSES
from course_utils.causes.kinds import CLASSES, TAUGHT
from course_utils.incidents import broken, healthy, proof

BROKEN, HEALTHY = incidents.names(), incidents.names(healthy)
SEEDS, MOST_LINES = range(3), 120
LESSONS = {
    path.stem for path in Path(__file__).parents[2].joinpath("solutions").glob("[0-9][0-9]_*.py")
}


def modules_of(name: str) -> set[str]:
    """The modules of the room that it is made with: a Trainer, GRPO, verl, two ranks."""
    source = Path(broken.__file__).with_name(f"{name}.py").read_text()
    return set(re.findall(r"from course_utils\.incidents\.(\w+)", source))


NUM_OF = Counter(module for name in BROKEN for module in modules_of(name))


def family_of(case: tuple[str, int]) -> str:
    """Of its modules the one that fewest incidents are made with."""
    return min(sorted(modules_of(case[0])), key=NUM_OF.get)


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")  # clues, and shown
@pytest.mark.filterwarnings(r"ignore:std\(\). degrees of freedom is <= 0")
@pytest.mark.filterwarnings("ignore:Model with `tie_word_embeddings")  # a clue, and shown
@pytest.mark.parametrize(("name", "seed"), cases(product(BROKEN, SEEDS), family_of))
def test_the_broken_run_shows_its_symptom_and_no_other_does(name, seed):
    seen = proof.shown(name, seed)
    assert proof.is_proved(seen), seen


@pytest.mark.parametrize(("name", "seed"), cases(product(HEALTHY, SEEDS)))
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
