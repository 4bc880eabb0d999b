"""What became of the model that was trained: measured, with the number, or not measured.

A cause that was seen is no harm that was seen. Looks write down what they measured of the outcome
under one of the names below; what a cause is known to do decides which of them would show it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from course_utils.causes import CAUSES, harms
from course_utils.diagnostics.diagnosis.verdicts import Verdict

NOT_BEGUN = "no step was taken"
STOOD, UNMOVED, SHORT = "the model did not move", "some weights never moved", "steps without a rate"
NOT_FINITE, FINITE = "weights that are nan", "weights that are finite at the end"
WORSE, AWAY, LONGER = "the run got worse", "the policy moved far", "replies that grew"
ENDLESS, ENDING, STOPPED = "replies that do not end", "replies that end", "the run stopped"
APART = "the served model computes something else"

SHOWN_BY = {  # what a cause is known to do -> what of the outcome shows that it did
    harms.STILL: (STOOD,),
    harms.LESS: (STOOD, UNMOVED, SHORT, ENDLESS),
    harms.WRONG: (NOT_FINITE, ENDLESS, WORSE),
    harms.BROKEN: (NOT_FINITE, WORSE, AWAY),
    harms.SOUND: (APART, ENDLESS),
    harms.MEASURED: (),
    harms.ENDED: (STOPPED,),
}
BY_A_FIX = "an evaluation of this model beside one trained with the fix"
WOULD_SHOW = {  # what would show it, and what to do with the model until then
    harms.STILL: (
        "the share of the weights that a step moves",
        "keep the model, no weight is damaged by it; fix the run and start it again",
    ),
    harms.LESS: (BY_A_FIX, "keep the model, and go on from it with the fix"),
    harms.WRONG: (BY_A_FIX, "keep the model until then; train again from the start if it lost"),
    harms.BROKEN: (
        "an evaluation of this model beside the checkpoint before",
        "keep both until then, and go on from the better one with the fix",
    ),
    harms.SOUND: (
        "the logits of one batch, trained and served",
        "keep the trained model, only what is served of it is wrong",
    ),
    harms.MEASURED: (
        "the same evaluation with the fix",
        "keep the trained model, only what is measured of it is wrong",
    ),
    harms.ENDED: ("the run to its end", "keep what was learnt before"),
}
THE_ENDS = "the share of this model's replies that end before the limit"


@dataclass(frozen=True)
class Harm:
    """What became of the model: `number` is how that was measured, "" where it was not."""

    number: str
    says: str

    def __str__(self) -> str:
        return f"{self.number}; {self.says}" if self.number else self.says


UNKNOWN = Harm("", "")


def harm_of(key: str, verdict: Verdict, outcomes: Mapping[str, str]) -> Harm:
    """What a cause did to the model, by what was measured of the outcome.

    >>> from course_utils.diagnostics.diagnosis.verdicts import verdict_of
    >>> harm_of("end_masked", verdict_of("end_masked"), {ENDLESS: "0% of replies end"})
    Harm(number='0% of replies end', says='the model learns the wrong thing: fix it, and train \
again from the start')
    >>> harm_of("end_masked", verdict_of("end_masked"), {}).number
    ''
    """
    if NOT_BEGUN in outcomes:
        return Harm("", "no step was taken yet: fix it before the run")
    cause = CAUSES[key]
    shown_by = SHOWN_BY.get(verdict.harm, ())
    if cause.damages == "length":
        shown_by = (LONGER, *shown_by)
    if cause.damages == "ends":
        shown_by = (ENDLESS,)
    for name in shown_by:
        if name in outcomes:
            return Harm(outcomes[name], verdict.harm)
    if cause.damages == "ends" and ENDING in outcomes:
        return Harm(outcomes[ENDING], "no harm is seen so far: keep the model, fix the next run")
    if cause.damages == "numbers" and FINITE in outcomes:
        return Harm(outcomes[FINITE], "no weight is damaged: keep the model, go on with the fix")
    look, then = WOULD_SHOW.get(verdict.harm, (BY_A_FIX, "keep the model until then"))
    own = cause.would_show if verdict.where == cause.where else ""
    look = THE_ENDS if cause.damages == "ends" else own or look
    return Harm("", f"no damage was measured; {look} would show it: {then}")
