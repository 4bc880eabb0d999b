"""For each cause: the stage it acts in, and the damage it can do (`harm` measures the damage)."""

from dataclasses import dataclass

from course_utils.causes import CAUSES
from course_utils.causes.harms import EVALUATION, LESS, MEASURED, SERVING, SOUND, TRAINING


@dataclass(frozen=True)
class Verdict:
    """The stage `where` a cause acts, and the `harm` it does to the model."""

    where: str
    harm: str


_OF_MEASURING = {EVALUATION: MEASURED, SERVING: SOUND}


def verdict_of(key: str, where: str = "") -> Verdict:
    """The verdict on a cause; `where` replaces the usual stage if the cause was seen elsewhere.

    >>> verdict_of("double_bos", "evaluation").harm == MEASURED
    True
    """
    usual = Verdict(CAUSES[key].where, CAUSES[key].harm)
    if not where or where == usual.where:
        return usual
    if where == TRAINING and usual.harm in (MEASURED, SOUND):
        return Verdict(where, LESS)
    return Verdict(where, _OF_MEASURING.get(where, usual.harm))
