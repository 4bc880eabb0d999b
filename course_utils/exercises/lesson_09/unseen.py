"""Exercise 09.9: a script the lesson has not shown; three variants, one fault each."""

from dataclasses import replace

import torch

from course_utils.checks.broken_script import Asked, Diagnosis, Variant, of_the_mend
from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion
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
    "With it both sides agree in three rollouts, on three seeds.",
    both_sides_agree,
    why="what is still different is still learned from",
    next="print patient.fresh(1, **{place: fix}).train().compare()",
)
LEARN = Criterion(
    "And after four the policy has moved and is not broken.",
    policy_still_learns,
    why="two sides agree also where nothing is trained",
    next="mend the side that is wrong; leave the other one alone",
)
BOTH = Criterion(
    "With it both sides agree on three seeds, and the policy still learns.",
    policy_still_learns,
    why="what is still different is still learned from",
    next="print patient.fresh(1, **{place: fix}).train().compare()",
)
ASKED = Asked(
    id="09.9",
    minutes=8,
    hints=(
        "Is there a difference before the first step, or only after some? compare() tells.",
        "Call each part by hand: what does it get, what does it give, and what does the engine "
        "do with the same?",
        "The part that you found, with the one line changed: hand all weights over, divide "
        "before the softmax, or leave the prompt's ids as they are.",
    ),
    place_next="compare() at the start and after some steps: what changed in between?",
    cause_next="say what your cause would leave in the table of compare(); is it there?",
    tried=_Tried,
    time_limit_s=180.0,
)


@of_the_mend
def engine_is_its_own(tried: _Tried) -> str | None:
    return both_sides_agree(tried) or tried.runs.first_unmet(runs.engine_is_its_own)


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
    "The engine has weights of its own, and they are the policy's after a sync.",
    engine_is_its_own,
    why="an engine is another program: it takes weights over, it does not borrow a policy",
    next="change the values of the engine's weights, and nothing else of it",
)
GRADIENT = Criterion(
    "Its gradient is that of the log-probs it gives.",
    its_gradient_is_right,
    why="equal numbers can hide another gradient, and only the gradient trains",
    next="one formula for the value and the gradient; detach nothing",
)


def by_state_dict(engine, policy):
    engine.load_state_dict(dict(policy.state_dict()), strict=True)


def divides_first(logits, ids, temperature):
    return (logits / temperature).log_softmax(-1).gather(-1, ids.unsqueeze(-1)).squeeze(-1)


def as_they_are(ids):
    return ids


NEVER = ASKED.on(
    Variant(unseen_09.never_loaded(), "sync", "a"),
    "An unseen run: a score that stands still",
    mend=by_state_dict,
    mended=(BOTH, OWN),
    may_change=(0,),
)
DIVIDED = ASKED.on(
    Variant(unseen_09.divided_late(), "score", "b"),
    "An unseen run: mended last week",
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
