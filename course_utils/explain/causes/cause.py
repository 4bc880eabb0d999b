"""One thing that a log can point to."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """One thing that can be wrong with a run, or `healthy` and only looks wrong.

    `thread` names where it was reported.
    """

    key: str
    says: str
    fix: str
    look: str
    lesson: str = ""
    instrument: str = ""
    thread: str = ""
    healthy: bool = False
