"""Exercise 06.6: a policy and its reference in one no_grad block."""

from collections.abc import Callable

import torch

from course_utils.checks.declare import Criterion, Exercise
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    SITUATIONS,
    Situation,
    backward_fails,
    gradients_differ,
    in_every_situation,
    loss_form,
    names_with_gradient,
    value_differs,
)
from course_utils.reproductions.lesson_06.small_models import Classifier


def _policy_and_reference(at: Situation) -> tuple[Classifier, Classifier]:
    policy, reference = at.model(), at.model()
    with torch.no_grad():
        policy.head.weight.mul_(2.0)  # at the reference the divergence has no slope
    reference.head.bias.requires_grad_(False)  # stays so: not all that was thawed is to be
    return policy, reference


def _divergence(policy, reference, x):
    """KL(policy || reference) in nats, the mean over examples."""
    logp, ref_logp = policy(x).log_softmax(-1), reference(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


def returns_a_loss(kl_loss) -> str | None:
    at = SITUATIONS[0]
    return loss_form(kl_loss(*_policy_and_reference(at), at.x()))


@in_every_situation
def runs_backward(kl_loss, at: Situation) -> str | None:
    return backward_fails(kl_loss(*_policy_and_reference(at), at.x()))


@in_every_situation
def is_the_divergence(kl_loss, at: Situation) -> str | None:
    got = kl_loss(*_policy_and_reference(at), at.x())
    want = _divergence(*_policy_and_reference(at), at.x())
    return value_differs(got, want, name="KL(policy || reference)", rtol=1e-3)


@in_every_situation
def policy_gets_its_gradient(kl_loss, at: Situation) -> str | None:
    policy, reference = _policy_and_reference(at)
    if backward_fails(kl_loss(policy, reference, at.x())):
        return NOTHING_YET
    same_policy, same_reference = _policy_and_reference(at)
    _divergence(same_policy, same_reference, at.x()).backward()
    return gradients_differ(policy, same_policy, rtol=1e-3)


@in_every_situation
def reference_gets_none(kl_loss, at: Situation) -> str | None:
    policy, reference = _policy_and_reference(at)
    if backward_fails(kl_loss(policy, reference, at.x())):
        return NOTHING_YET
    reached = names_with_gradient(reference)
    return f"parameters of the reference with a gradient: {', '.join(reached)}" if reached else None


def kl_loss_with_narrow_no_grad(policy, reference, x):
    with torch.no_grad():
        ref_logp = reference(x).log_softmax(-1)
    logp = policy(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


REFERENCE = Exercise(
    id="06.6",
    name="REFERENCE",
    title="Snippet 2, close to a reference",
    minutes=2,
    difficulty="two lines",
    points=1,
    reads="kl_loss",
    expects=(Callable,),
    hints=(
        "Which of the two forward passes needs a gradient?",
        "Inside torch.no_grad() nothing is recorded, however trainable the weights are.",
        "The block holds two calls, and one of them has to leave it. Which one should learn?",
    ),
    form=returns_a_loss,
    criteria=(
        Criterion(
            "loss.backward() runs.",
            runs_backward,
            why="nothing was recorded, so backward() cannot reach a weight",
            next="print logp.requires_grad",
        ),
        Criterion(
            "The loss is KL(policy || reference), the mean over the examples.",
            is_the_divergence,
            why="a fixed graph must not change what is trained",
            next="the sum of p (log p - log q) over the classes, then the mean over the examples",
        ),
        Criterion(
            "The policy gets the gradient of the divergence.",
            policy_gets_its_gradient,
            why="a gradient can arrive and still be that of another loss",
            next="is the policy's line recorded, without a detach or requires_grad_() of yours?",
        ),
        Criterion(
            "The reference gets none.",
            reference_gets_none,
            why="a reference that is pulled towards the policy is no reference",
            next="keep no_grad for the reference",
        ),
    ),
    answer=kl_loss_with_narrow_no_grad,
)
