"""What became of the model that was trained: measured, with the number, or not measured.

A cause that was seen is no harm that was seen. Looks write down what they measured of the outcome
under one of the names below; what a cause is known to do decides which of them would show it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from course_utils.diagnostics.diagnosis import verdicts
from course_utils.diagnostics.diagnosis.verdicts import Verdict

NOT_BEGUN = "no step was taken"
STOOD, UNMOVED, SHORT = "the model did not move", "some weights never moved", "steps without a rate"
NOT_FINITE, FINITE = "weights that are nan", "weights that are finite at the end"
WORSE, AWAY, LONGER = "the run got worse", "the policy moved far", "replies that grew"
ENDLESS, ENDING, STOPPED = "replies that do not end", "replies that end", "the run stopped"
APART = "the served model computes something else"

SHOWN_BY = {  # what a cause is known to do -> what of the outcome shows that it did
    verdicts.STILL: (STOOD,),
    verdicts.LESS: (STOOD, UNMOVED, SHORT, ENDLESS),
    verdicts.WRONG: (NOT_FINITE, ENDLESS, WORSE),
    verdicts.BROKEN: (NOT_FINITE, WORSE, AWAY),
    verdicts.SOUND: (APART, ENDLESS),
    verdicts.MEASURED: (),
    verdicts.ENDED: (STOPPED,),
}
BY_A_FIX = "an evaluation of this model beside one trained with the fix"
WOULD_SHOW = {  # what would show it, and what to do with the model until then
    verdicts.STILL: (
        "the share of the weights that a step moves",
        "keep the model, no weight is damaged by it; mend the run and start it again",
    ),
    verdicts.LESS: (BY_A_FIX, "keep the model, and go on from it with the fix"),
    verdicts.WRONG: (BY_A_FIX, "keep the model until then; train again from the start if it lost"),
    verdicts.BROKEN: (
        "an evaluation of this model beside the checkpoint before",
        "keep both until then, and go on from the better one with the fix",
    ),
    verdicts.SOUND: (
        "the logits of one batch, trained and served",
        "keep the trained model, only what is served of it is wrong",
    ),
    verdicts.MEASURED: (
        "the same evaluation with the fix",
        "keep the trained model, only what is measured of it is wrong",
    ),
    verdicts.ENDED: ("the run to its end", "keep what was learnt before"),
}
ENDS = {"pad_is_eos", "end_masked", "end_missing", "stops_elsewhere"}
OF_KEY = {  # what would show it, where one number is better than an evaluation of everything
    **dict.fromkeys(ENDS, "the share of this model's replies that end before the limit"),
    **dict.fromkeys(
        ("reward_pays_junk", "proxy_rises_alone", "length_into_limit"),
        "the share of right replies to held-out prompts, by another judge than the reward",
    ),
    "kl_without_effect": "the KL of policy and reference beside that of a run with the fix",
    "memory_by_logits": "the peak memory of one evaluation",
}
ONLY_OF = {"length_is_paid": (LONGER,)}  # causes that one number of the outcome belongs to
OF_NUMBERS = {  # causes that put nan into weights, or do not
    *("nan_shown_as_zero", "nan_from_the_start", "nan_already", "nan_gradient", "fp16_overflow"),
    *("norm_never_finite", "nan_now_and_then", "operation_not_finite", "half_weights"),
    *("numbers_broken", "reward_nan", "std_of_one"),
}


@dataclass(frozen=True)
class Harm:
    """What became of the model: `number` is how that was measured, "" where it was not."""

    number: str
    says: str

    def __str__(self) -> str:
        return f"measured: {self.number}; {self.says}" if self.number else self.says


UNKNOWN = Harm("", "")


def harm_of(key: str, verdict: Verdict, outcomes: Mapping[str, str]) -> Harm:
    """What a cause did to the model, by what was measured of the outcome.

    >>> harm_of("end_masked", verdicts.verdict_of("end_masked"), {ENDLESS: "0% of replies end"})
    Harm(number='0% of replies end', says='the model learns the wrong thing: mend it, and train \
again from the start')
    >>> harm_of("end_masked", verdicts.verdict_of("end_masked"), {}).number
    ''
    """
    if NOT_BEGUN in outcomes:
        return Harm("", "none yet, no step was taken: mend it before the run")
    shown_by = (*ONLY_OF.get(key, ()), *SHOWN_BY.get(verdict.harm, ()))
    shown_by = (ENDLESS,) if key in ENDS else shown_by
    for name in shown_by:
        if name in outcomes:
            return Harm(outcomes[name], verdict.harm)
    if key in ENDS and ENDING in outcomes:
        return Harm(outcomes[ENDING], "no harm is seen so far: keep the model, mend the next run")
    if key in OF_NUMBERS and FINITE in outcomes:
        return Harm(outcomes[FINITE], "no weight is damaged: keep the model, go on with the fix")
    look, then = WOULD_SHOW.get(verdict.harm, (BY_A_FIX, "keep the model until then"))
    look = OF_KEY.get(key, look)
    return Harm("", f"not measured, only its cause was seen; {look} would show it: {then}")
