"""Exercise 09.9: a script the lesson has not shown; three variants, one fault each."""

from dataclasses import replace

import torch

from course_utils.checks.broken_script import Asked, Diagnosis, Variant, of_the_mend
from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion, not_tested
from course_utils.checks.probes import gradient_of
from course_utils.checks.settings import OverSeeds, over_seeds
from course_utils.exercises.lesson_09 import runs
from course_utils.exercises.lesson_09.runs import Mended
from course_utils.reproductions.lesson_09 import unseen_09

SEEDS = (31, 32, 33)


class _Tried(Diagnosis):
    """A diagnosis, and the runs trained with its mend."""

    def __init__(self, unseen: dict, variant: Variant) -> None:
        super().__init__(unseen, variant)
        changes = {self.place: self.fix}
        self.runs = OverSeeds(
            lambda seed: Mended(variant.ticket.fresh(seed, **changes).loop), SEEDS
        )


@of_the_mend
def both_sides_agree(tried: _Tried) -> str | None:
    return tried.runs.first_unmet(runs.agrees)


@over_seeds
def _learns(mended: Mended) -> str | None:
    return runs.learns(mended)


def policy_still_learns(tried: _Tried) -> str | None:
    return both_sides_agree(tried) or _learns(tried.runs)


AGREE = Criterion(
    "With your part both sides agree in three rollouts, on three seeds.",
    both_sides_agree,
    why="while the sides differ, the policy learns from wrong ratios",
    next="print patient.fresh(1, **{place: fix}).train().compare()",
)
LEARN = Criterion(
    "And after four rollouts the policy has moved and is not broken.",
    policy_still_learns,
    why="the two sides also agree if nothing is trained",
    next="fix the side that is wrong; leave the other one as it is",
)
BOTH = Criterion(
    "With your part both sides agree on three seeds, and the policy still learns.",
    policy_still_learns,
    why="while the sides differ, the policy learns from wrong ratios",
    next="print patient.fresh(1, **{place: fix}).train().compare()",
)
ASKED = Asked(
    id="09.9",
    minutes=8,
    hints=(
        "Is there a difference before the first step, or only after some? Use compare().",
        "Call each part by hand: what does it get, what does it return, and what does the engine "
        "do with the same input?",
        "Change one line of the part that you found, and call compare() again, at the start and "
        "after four steps. What is left of the difference?",
    ),
    place_next="call compare() at the start and after some steps: what changed in between?",
    cause_next="what would your cause show in the table of compare()? Is it there?",
    tried=_Tried,
    time_limit_s=180.0,
)


@of_the_mend
def engine_is_its_own(tried: _Tried) -> str | None:
    if seen := both_sides_agree(tried):
        return not_tested(seen)
    return tried.runs.first_unmet(runs.engine_is_its_own)


@of_the_mend
def its_gradient_is_right(tried: _Tried) -> str | None:
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn((2, 3, 9), generator=generator) * 2
    ids = torch.randint(9, (2, 3), generator=generator)
    got, problem = gradient_of(tried.fix, (logits, ids, 0.8))
    if problem:
        return problem
    want, _ = gradient_of(unseen_09.score, (logits, ids, 0.8))
    given = "logits of shape (2, 3, 9) at temperature 0.8, the gradient"
    return tensor_differs(got, want, rtol=1e-3, atol=1e-5, given=given)


OWN = Criterion(
    "The engine has weights of its own, and after a sync they equal the policy's.",
    engine_is_its_own,
    why="an engine is another program: it holds a copy of the weights, not the policy itself",
    next="change the values of the engine's weights and nothing else",
)
GRADIENT = Criterion(
    "Its gradient is that of the log-probs that it returns.",
    its_gradient_is_right,
    why="equal values can have different gradients, and only the gradient trains",
    next="use one formula for value and gradient; detach nothing",
)


def by_state_dict(engine, policy):
    engine.load_state_dict(dict(policy.state_dict()), strict=True)


def divides_first(logits, ids, temperature):
    return (logits / temperature).log_softmax(-1).gather(-1, ids.unsqueeze(-1)).squeeze(-1)


def as_they_are(ids):
    return ids


NEVER = ASKED.on(
    Variant(unseen_09.never_loaded(), "sync", "a"),
    "An unseen run: a score that stays constant",
    mend=by_state_dict,
    mended=(BOTH, OWN),
    may_change=(0,),
)
DIVIDED = ASKED.on(
    Variant(unseen_09.divided_late(), "score", "b"),
    "An unseen run: fixed last week",
    mend=divides_first,
    mended=(AGREE, LEARN, GRADIENT),
)
STRIPPED = ASKED.on(
    Variant(unseen_09.stripped(), "prompt_of", "c"),
    "An unseen run: a template of its own",
    mend=as_they_are,
    mended=(BOTH,),
)
UNSEEN = replace(NEVER, also=(DIVIDED, STRIPPED))
