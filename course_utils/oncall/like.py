"""The facts that a ticket shares with an incident, or with another ticket."""

from functools import cache
from pathlib import Path

from course_utils import incidents
from course_utils.errors import BadRequest
from course_utils.incidents.declared import declared

SHARED = ("title", "kind", "cause", "fix", "threads")
CASES = Path(__file__).with_name("cases")


@cache
def facts_of(name: str) -> dict[str, object]:
    """Title, kind, cause, fix and threads of the incident of that name, or else of the ticket.

    Raises:
        BadRequest: there is neither.

    >>> facts_of("warmup_longer_than_the_run")["kind"]
    'schedule'
    """
    ticket = CASES / f"{name}.py"
    if name in incidents.names():
        said = incidents.declaration(name)
    elif ticket.exists():
        said = declared(ticket, "Fault")
    else:
        raise BadRequest(
            f"like={name!r} is neither an incident nor a ticket",
            why="the facts of a ticket are taken from there",
            fix="give the name of a module of incidents/broken or oncall/cases",
        )
    return {field: said[field] for field in SHARED}
