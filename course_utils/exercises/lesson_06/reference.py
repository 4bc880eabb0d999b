"""Exercise 06.6: a policy and its reference in one no_grad block."""

from collections.abc import Callable

import torch

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    backward_fails,
    gradients_differ,
    names_with_gradient,
)
from course_utils.reproductions.small_models import Classifier, classifier, examples


def _policy_and_reference() -> tuple[Classifier, Classifier]:
    policy, reference = classifier(), classifier()
    with torch.no_grad():
        policy.head.weight.mul_(2.0)  # at the reference the divergence has no slope
    return policy, reference


def _divergence(policy, reference, x):
    """KL(policy || reference) in nats, the mean over examples."""
    logp, ref_logp = policy(x).log_softmax(-1), reference(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


def runs_backward(kl_loss) -> str | None:
    return backward_fails(kl_loss(*_policy_and_reference(), examples()[0]))


def policy_gets_its_gradient(kl_loss) -> str | None:
    policy, reference = _policy_and_reference()
    if backward_fails(kl_loss(policy, reference, examples()[0])):
        return NOTHING_YET
    same_policy, same_reference = _policy_and_reference()
    _divergence(same_policy, same_reference, examples()[0]).backward()
    return gradients_differ(policy, same_policy)


def reference_gets_none(kl_loss) -> str | None:
    policy, reference = _policy_and_reference()
    if backward_fails(kl_loss(policy, reference, examples()[0])):
        return NOTHING_YET
    reached = names_with_gradient(reference)
    return f"parameters of the reference with a gradient: {', '.join(reached)}" if reached else None


def kl_loss_with_narrow_no_grad(policy, reference, x):
    with torch.no_grad():
        ref_logp = reference(x).log_softmax(-1)
    logp = policy(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


def kl_loss_by_detaching(policy, reference, x):
    logp, ref_logp = policy(x).log_softmax(-1), reference(x).detach().log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


def kl_loss_as_it_was(policy, reference, x):
    with torch.no_grad():
        logp, ref_logp = policy(x).log_softmax(-1), reference(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


def kl_loss_in_inference_mode(policy, reference, x):
    with torch.inference_mode():
        logp, ref_logp = policy(x).log_softmax(-1), reference(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


def kl_loss_with_marked_policy(policy, reference, x):
    with torch.no_grad():
        logp, ref_logp = policy(x).log_softmax(-1), reference(x).log_softmax(-1)
    logp.requires_grad_()
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


def kl_loss_wrong_way_round(policy, reference, x):
    with torch.no_grad():
        logp = policy(x).log_softmax(-1)
    ref_logp = reference(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


def kl_loss_with_both(policy, reference, x):
    return _divergence(policy, reference, x)


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
        "Which of the two forward passes is to be differentiated?",
        "Inside torch.no_grad() nothing is recorded, however trainable the weights are.",
        "Leave only the reference's line inside the block.",
    ),
    criteria=(
        Criterion(
            "loss.backward() runs.",
            runs_backward,
            why="arithmetic on recorded-nowhere tensors has no way back",
            next="print logp.requires_grad",
        ),
        Criterion(
            "The policy gets the gradient of the divergence.",
            policy_gets_its_gradient,
            why="a gradient can arrive and still be that of another loss",
            next="is the policy's line recorded, is nothing of it detached or marked by hand, and "
            "is the sum p (log p - log q) over the classes, then the mean over examples?",
        ),
        Criterion(
            "The reference gets none.",
            reference_gets_none,
            why="a reference that is pulled towards the policy is no reference",
            next="keep no_grad for the reference",
        ),
    ),
    right=(kl_loss_with_narrow_no_grad, kl_loss_by_detaching),
    wrong=(
        Wrong(kl_loss_as_it_was, caught_by=runs_backward),
        Wrong(kl_loss_in_inference_mode, caught_by=runs_backward),
        Wrong(kl_loss_with_marked_policy, caught_by=policy_gets_its_gradient),
        Wrong(kl_loss_wrong_way_round, caught_by=policy_gets_its_gradient),
        Wrong(kl_loss_with_both, caught_by=reference_gets_none),
    ),
)
