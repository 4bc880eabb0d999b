"""Right and wrong answers of exercise 06.6."""

import torch

from course_utils.checks import checking
from course_utils.exercises.lesson_06 import reference
from course_utils.exercises.lesson_06.reference import _divergence, kl_loss_with_narrow_no_grad
from tests.answers import answers_of

right, wrong = answers_of(reference.REFERENCE)


@right
def kl_loss_by_detaching(policy, reference, x):
    logp, ref_logp = policy(x).log_softmax(-1), reference(x).detach().log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


@wrong(caught_by=reference.runs_backward)
def kl_loss_as_it_was(policy, reference, x):
    with torch.no_grad():
        logp, ref_logp = policy(x).log_softmax(-1), reference(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


@wrong(caught_by=reference.runs_backward)
def kl_loss_in_inference_mode(policy, reference, x):
    with torch.inference_mode():
        logp, ref_logp = policy(x).log_softmax(-1), reference(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


@wrong(caught_by=reference.policy_gets_its_gradient)
def kl_loss_with_marked_policy(policy, reference, x):
    with torch.no_grad():
        logp, ref_logp = policy(x).log_softmax(-1), reference(x).log_softmax(-1)
    logp.requires_grad_()
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


@wrong(caught_by=reference.policy_gets_its_gradient)
def kl_loss_wrong_way_round(policy, reference, x):
    with torch.no_grad():
        logp = policy(x).log_softmax(-1)
    ref_logp = reference(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


@wrong(caught_by=reference.reference_gets_none)
def kl_loss_with_both(policy, reference, x):
    return _divergence(policy, reference, x)


@right
def kl_loss_with_the_librarys_kl_div(policy, reference, x):
    with torch.no_grad():
        ref_logp = reference(x).log_softmax(-1)
    logp = policy(x).log_softmax(-1)
    return torch.nn.functional.kl_div(ref_logp, logp, reduction="batchmean", log_target=True)


@wrong(caught_by=reference.is_the_divergence)
def kl_loss_in_the_other_direction(policy, reference, x):
    with torch.no_grad():
        ref_logp = reference(x).log_softmax(-1)
    logp = policy(x).log_softmax(-1)
    return (ref_logp.exp() * (ref_logp - logp)).sum(-1).mean()


@wrong(caught_by=reference.policy_gets_its_gradient)
def kl_loss_with_weights_detached(policy, reference, x):
    with torch.no_grad():
        ref_logp = reference(x).log_softmax(-1)
    logp = policy(x).log_softmax(-1)
    return (logp.exp().detach() * (logp - ref_logp)).sum(-1).mean()


@wrong(caught_by=reference.is_the_divergence)
def kl_loss_summed(policy, reference, x):
    return kl_loss_with_narrow_no_grad(policy, reference, x) * len(x)


@wrong(caught_by=reference.returns_a_loss)
def kl_loss_per_example(policy, reference, x):
    with torch.no_grad():
        ref_logp = reference(x).log_softmax(-1)
    logp = policy(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1)


@wrong(caught_by=checking.leaves_its_inputs_alone)
def kl_loss_that_freezes_the_reference(policy, reference, x):
    reference.requires_grad_(False)
    return _divergence(policy, reference, x)


@wrong(caught_by=checking.leaves_its_inputs_alone)
def kl_loss_that_freezes_and_thaws(policy, reference, x):
    reference.requires_grad_(False)
    loss = _divergence(policy, reference, x)
    reference.requires_grad_(True)
    return loss


@wrong(caught_by=checking.leaves_its_inputs_alone)
def kl_loss_in_evaluation_mode(policy, reference, x):
    reference.eval()
    return kl_loss_with_narrow_no_grad(policy, reference, x)
