"""Proves an incident: the broken run shows the symptom, its twin and the fixed run do not."""

from course_utils import incidents
from course_utils.incidents.declare import Incident, Run, Variant


def variants(incident: Incident) -> tuple[Variant, ...]:
    """Those worth a run: `mended` is left out where it is the twin itself."""
    is_twin = getattr(incident.make, "mended", "something") is None
    return ("broken", "twin") if is_twin else ("broken", "twin", "mended")


def shown(name: str, seed: int) -> dict[Variant, bool]:
    """Run each variant of an incident to its end, and say whether it shows the symptom."""
    incident = incidents.load_incident(name)
    return {
        variant: bool(incident.shows(ended(incident.make(variant, seed))))
        for variant in variants(incident)
    }


def is_proved(seen: dict[Variant, bool]) -> bool:
    """Whether the broken run shows the symptom, and no other does.

    >>> is_proved({"broken": True, "twin": False}), is_proved({"broken": True, "twin": True})
    (True, False)
    """
    return all(is_shown == (variant == "broken") for variant, is_shown in seen.items())


def holds(name: str, seed: int) -> bool:
    """Whether a run that only looks broken has become what a healthy run becomes."""
    look_alike = incidents.load_look_alike(name)
    return bool(look_alike.holds(ended(look_alike.make(seed))))


def ended(run: Run) -> Run:
    """The run, trained to its end."""
    run.start()
    return run
