"""The result of a rule: a cause, its strength, and the numbers for and against it."""

from dataclasses import dataclass

from course_utils.causes import CAUSES, Cause
from course_utils.explain.clauses import clauses, without
from course_utils.explain.paste.entries import Entry, Line

AFTER_IT = "the last run of this log has none of it"
LOOK = 1.9  # a weight: up to it a finding says where to look, and is no cause


@dataclass(frozen=True)
class Finding:
    """`at` is the entry or line it rests on; `for_it` and `against` quote numbers of the log.

    `weight` orders findings; above 5 the log shows the thing itself, below 2 it is a look.
    `why` and `advice` say which of the things it is that the cause's own words hold, if several.
    `untold` is what stays open of such a thing.
    `in_force` are clauses of its fix and next look that the log has already.
    """

    key: str
    weight: float
    at: Entry | Line
    for_it: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    why: str = ""
    advice: str = ""
    untold: str = ""
    in_force: frozenset[str] = frozenset()

    @property
    def cause(self) -> Cause:
        return CAUSES[self.key]

    @property
    def is_look(self) -> bool:
        """Whether it is too weak to be a cause, and says where to look."""
        return self.weight <= LOOK and not self.cause.healthy

    @property
    def says(self) -> str:
        return self.why or self.cause.says

    @property
    def open(self) -> str:
        """What a log cannot tell of this cause; "" where something beside it has decided."""
        return self.untold or ("" if self.why or self.advice else self.cause.leaves_open)

    @property
    def fix(self) -> str:
        """What to do; a fix of which nothing would be left is said as it is."""
        whole = self.advice or self.cause.fix
        return without(whole, self.in_force) or whole

    @property
    def look(self) -> str:
        """Where to look next; "" where the log has answered it."""
        is_seen = self.in_force.intersection(clauses(self.cause.look))
        return "" if is_seen else self.cause.look
