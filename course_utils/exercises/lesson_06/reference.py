"""Exercise 06.6: a policy and its reference in one no_grad block."""

from collections.abc import Callable

import torch

from course_utils.checks import checking
from course_utils.checks.declare import Criterion, Exercise, Wrong
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


def kl_loss_with_the_librarys_kl_div(policy, reference, x):
    with torch.no_grad():
        ref_logp = reference(x).log_softmax(-1)
    logp = policy(x).log_softmax(-1)
    return torch.nn.functional.kl_div(ref_logp, logp, reduction="batchmean", log_target=True)


def kl_loss_in_the_other_direction(policy, reference, x):
    with torch.no_grad():
        ref_logp = reference(x).log_softmax(-1)
    logp = policy(x).log_softmax(-1)
    return (ref_logp.exp() * (ref_logp - logp)).sum(-1).mean()


def kl_loss_with_weights_detached(policy, reference, x):
    with torch.no_grad():
        ref_logp = reference(x).log_softmax(-1)
    logp = policy(x).log_softmax(-1)
    return (logp.exp().detach() * (logp - ref_logp)).sum(-1).mean()


def kl_loss_summed(policy, reference, x):
    return kl_loss_with_narrow_no_grad(policy, reference, x) * len(x)


def kl_loss_per_example(policy, reference, x):
    with torch.no_grad():
        ref_logp = reference(x).log_softmax(-1)
    logp = policy(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1)


def kl_loss_that_freezes_the_reference(policy, reference, x):
    reference.requires_grad_(False)
    return _divergence(policy, reference, x)


def kl_loss_that_freezes_and_thaws(policy, reference, x):
    reference.requires_grad_(False)
    loss = _divergence(policy, reference, x)
    reference.requires_grad_(True)
    return loss


def kl_loss_in_evaluation_mode(policy, reference, x):
    reference.eval()
    return kl_loss_with_narrow_no_grad(policy, reference, x)


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
        "The block holds two calls, and one of them has to leave it. Which one is to learn?",
    ),
    form=returns_a_loss,
    criteria=(
        Criterion(
            "loss.backward() runs.",
            runs_backward,
            why="arithmetic on recorded-nowhere tensors has no way back",
            next="print logp.requires_grad",
        ),
        Criterion(
            "The loss is KL(policy || reference), the mean over the examples.",
            is_the_divergence,
            why="a mended graph must not change what is trained",
            next="the sum of p (log p - log q) over the classes, then the mean over the examples",
        ),
        Criterion(
            "The policy gets the gradient of the divergence.",
            policy_gets_its_gradient,
            why="a gradient can arrive and still be that of another loss",
            next="is the policy's line recorded, and nothing of it detached or marked by hand?",
        ),
        Criterion(
            "The reference gets none.",
            reference_gets_none,
            why="a reference that is pulled towards the policy is no reference",
            next="keep no_grad for the reference",
        ),
    ),
    right=(
        kl_loss_with_narrow_no_grad,
        kl_loss_by_detaching,
        kl_loss_with_the_librarys_kl_div,
    ),
    wrong=(
        Wrong(kl_loss_per_example, caught_by=returns_a_loss),
        Wrong(kl_loss_in_the_other_direction, caught_by=is_the_divergence),
        Wrong(kl_loss_summed, caught_by=is_the_divergence),
        Wrong(kl_loss_with_weights_detached, caught_by=policy_gets_its_gradient),
        Wrong(kl_loss_that_freezes_the_reference, caught_by=checking.leaves_its_inputs_alone),
        Wrong(kl_loss_that_freezes_and_thaws, caught_by=checking.leaves_its_inputs_alone),
        Wrong(kl_loss_in_evaluation_mode, caught_by=checking.leaves_its_inputs_alone),
        Wrong(kl_loss_as_it_was, caught_by=runs_backward),
        Wrong(kl_loss_in_inference_mode, caught_by=runs_backward),
        Wrong(kl_loss_with_marked_policy, caught_by=policy_gets_its_gradient),
        Wrong(kl_loss_wrong_way_round, caught_by=policy_gets_its_gradient),
        Wrong(kl_loss_with_both, caught_by=reference_gets_none),
    ),
)
