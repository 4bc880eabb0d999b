"""The result of a rule: a cause, its strength, and the numbers for and against it."""

from dataclasses import dataclass

from course_utils.explain.causes import CAUSES, Cause
from course_utils.explain.entries import Entry, Line


@dataclass(frozen=True)
class Finding:
    """`at` is the entry or line it rests on; `for_it` and `against` quote numbers of the log.

    `weight` orders findings; above 5 the log shows the thing itself, below 2 it only hints at it.
    """

    key: str
    weight: float
    at: Entry | Line
    for_it: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    @property
    def cause(self) -> Cause:
        return CAUSES[self.key]
