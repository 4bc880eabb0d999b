"""Where a cause is at work, and what it is known to do to the model: `harm` has what it did."""

from dataclasses import dataclass

from course_utils.causes import CAUSES
from course_utils.causes.harms import EVALUATION, MEASURED, SERVING, SOUND


@dataclass(frozen=True)
class Verdict:
    """`where` a cause is at work, and in `harm` what becomes of the model."""

    where: str
    harm: str


_OF_MEASURING = {EVALUATION: MEASURED, SERVING: SOUND}


def verdict_of(key: str, where: str = "") -> Verdict:
    """The verdict on a cause; `where` is where it was seen, if that is not where it usually is.

    >>> verdict_of("double_bos", "evaluation").harm == MEASURED
    True
    """
    usual = Verdict(CAUSES[key].where, CAUSES[key].harm)
    if not where or where == usual.where:
        return usual
    return Verdict(where, _OF_MEASURING.get(where, usual.harm))
