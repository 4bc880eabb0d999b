"""The facts that a ticket shares with an incident, or with another ticket."""

from functools import cache
from pathlib import Path

from course_utils import incidents
from course_utils.incidents.declared import declared

SHARED = ("title", "kind", "cause", "fix", "threads")
CASES = Path(__file__).with_name("cases")


@cache
def facts_of(name: str) -> dict[str, object]:
    """Title, kind, cause, fix and threads of the incident of that name, or else of the ticket.

    >>> facts_of("warmup_longer_than_the_run")["kind"]
    'schedule'
    """
    is_incident = name in incidents.names()
    said = incidents.declaration(name) if is_incident else declared(CASES / f"{name}.py", "Fault")
    return {field: said[field] for field in SHARED}
