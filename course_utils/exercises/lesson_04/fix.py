"""Exercise 04.7: a change of the run that is checked by training with it."""

import torch

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_04.guard import step_if_finite
from course_utils.exercises.lesson_04.kl import kl_bounded_before_exp
from course_utils.exercises.lesson_04.mean import mean_by_where
from course_utils.reproductions.verl_formulas import kl_penalty_0_4_1
from course_utils.reproductions.verl_grpo import VerlGrpo
from course_utils.reproductions.verl_outcomes import MIN_GAIN

NUM_STEPS = 8  # the reported run of seed 0 is dead by then


def train_with(fix: dict) -> VerlGrpo:
    """Train the run of the lesson with the student's changes, a few steps."""
    run = VerlGrpo(**fix)
    run.train(NUM_STEPS)
    return run


def weights_are_finite(run) -> str | None:
    dead = [name for name, p in run.actor.named_parameters() if not p.isfinite().all()]
    total = sum(1 for _ in run.actor.parameters())
    if not dead:
        return None
    return f"{len(dead)} of {total} weights hold nan; the last reply is {run.steps[-1]['reply']!r}"


def every_update_counts(run) -> str | None:
    lost = [u for u in run.updates if not (u["stepped"] and abs(u["actor/grad_norm"]) < torch.inf)]
    if not lost:
        return None
    first = lost[0]
    return (
        f"{len(lost)} of {len(run.updates)} updates had no finite gradient or were left out, "
        f"the first at step {first['step']} with grad_norm {first['actor/grad_norm']:g}"
    )


def kl_is_still_in_the_loss(run) -> str | None:
    settings = run.settings
    if settings.use_kl_loss and settings.kl_loss_coef >= 0.001:
        return None
    return f"use_kl_loss {settings.use_kl_loss}, kl_loss_coef {settings.kl_loss_coef:g}"


def the_reward_rises(run) -> str | None:
    first, last = run.evaluate(run.reference), run.evaluate()
    if last >= first + MIN_GAIN:
        return None
    return f"of the held-out sums {first:.0%} were right before the run and {last:.0%} after it"


def bounded_kl(logprob, ref_logprob, kl_penalty):
    """The bound of exercise 04.3 with the arguments that the loop gives."""
    return kl_bounded_before_exp(logprob, ref_logprob)


FIX = Exercise(
    id="04.7",
    name="FIX",
    title="Mend the run",
    minutes=8,
    difficulty="one setting",
    points=5,
    reads="fix",
    expects=(dict,),
    hints=(
        "Which links of the chain does the gradient pass, and which only the value?",
        "A guard or a masked mean stands after the nan is made. What stands before exp?",
        "One key is enough: a bounded kl_penalty, or logits in float32, or no padding at all.",
    ),
    criteria=(
        Criterion(
            "Every weight is finite after the run.",
            weights_are_finite,
            why="the policy that writes !!!! has lost them",
            next="ask of each change: does it act before exp, or after it?",
        ),
        Criterion(
            "Every update has a finite gradient and is taken.",
            every_update_counts,
            why="a skipped update is training that you paid for and threw away",
            next="a guard keeps the weights alive; find what makes the gradient nan",
        ),
        Criterion(
            "The KL is still in the loss, with its coefficient.",
            kl_is_still_in_the_loss,
            why="without it nothing holds the policy near its reference",
            next="mend the term instead of taking it out",
        ),
        Criterion(
            "The reward rises.",
            the_reward_rises,
            why="a run that does not move does not break either",
            next="mend what the lines above name; if none does, leave the learning rate alone",
        ),
    ),
    right=(
        {"kl_penalty": bounded_kl},
        {"logits_dtype": "float32"},
        {"use_remove_padding": True},
        {"kl_loss_type": "mse"},
    ),
    wrong=(
        Wrong({}, caught_by=weights_are_finite),
        Wrong({"kl_loss_coef": 0.0}, caught_by=weights_are_finite),
        Wrong({"grad_clip": 0.1}, caught_by=weights_are_finite),
        Wrong({"masked_mean": mean_by_where}, caught_by=weights_are_finite),
        Wrong({"kl_penalty": kl_penalty_0_4_1}, caught_by=weights_are_finite),
        Wrong({"may_step": step_if_finite}, caught_by=every_update_counts),
        Wrong({"use_kl_loss": False}, caught_by=kl_is_still_in_the_loss),
        Wrong({"learning_rate": 1e-7}, caught_by=the_reward_rises),
    ),
    run=train_with,
    time_limit_s=120.0,
)
