"""Right and wrong answers of exercise 04.8."""

import torch

from course_utils.exercises.lesson_04 import bound
from course_utils.exercises.lesson_04.bound import reference_by_minimum
from tests.answers import answers_of

right, wrong = answers_of(bound.BOUND)


@right
def reference_by_plain_minimum(ref_logps, logps, max_log_ratio):
    return torch.minimum(ref_logps, logps + max_log_ratio)


@right
def reference_by_clamp(ref_logps, logps, max_log_ratio):
    fixed = logps.detach()
    return fixed + (ref_logps - fixed).clamp(max=max_log_ratio)


@right
def reference_without_graph(ref_logps, logps, max_log_ratio):
    with torch.no_grad():
        return ref_logps - torch.relu(ref_logps - logps - max_log_ratio)


@wrong(caught_by=bound.brings_far_tokens_to_the_bound)
def reference_unchanged(ref_logps, logps, max_log_ratio):
    return ref_logps


@wrong(caught_by=bound.leaves_near_tokens)
def reference_itself_clamped(ref_logps, logps, max_log_ratio):
    return ref_logps.clamp(-max_log_ratio, max_log_ratio)


@wrong(caught_by=bound.leaves_near_tokens)
def reference_two_sided(ref_logps, logps, max_log_ratio):
    return (logps + (ref_logps - logps).clamp(-max_log_ratio, max_log_ratio)).detach()


@wrong(caught_by=bound.leaves_near_tokens)
def reference_moved(ref_logps, logps, max_log_ratio):
    return logps.detach() + max_log_ratio


@wrong(caught_by=bound.leaves_near_tokens)
def reference_by_maximum(ref_logps, logps, max_log_ratio):
    return torch.maximum(ref_logps, logps.detach() - max_log_ratio)


@wrong(caught_by=bound.leaves_near_tokens)
def reference_with_fixed_bound(ref_logps, logps, max_log_ratio):
    return torch.minimum(ref_logps, logps.detach() + 10.0)


@wrong(caught_by=bound.brings_far_tokens_to_the_bound)
def reference_far_to_the_policy(ref_logps, logps, max_log_ratio):
    fixed = logps.detach()
    return torch.where(ref_logps - fixed > max_log_ratio, fixed, ref_logps)


@wrong(caught_by=bound.brings_far_tokens_to_the_bound)
def reference_the_wrong_sign(ref_logps, logps, max_log_ratio):
    return torch.where(ref_logps - logps > max_log_ratio, ref_logps - max_log_ratio, ref_logps)


@wrong(caught_by=bound.trains_near_tokens_as_before)
def reference_that_follows(ref_logps, logps, max_log_ratio):
    return logps + (ref_logps - logps).clamp(max=max_log_ratio).detach()


@wrong(caught_by=bound.trains_near_tokens_as_before)
def reference_pulled_with_it(ref_logps, logps, max_log_ratio):
    moved = torch.minimum(ref_logps, logps.detach() + max_log_ratio)
    return moved + 0.5 * (logps - logps.detach())


@wrong(caught_by=bound.leaves_near_tokens)
def reference_unless_one_is_far(ref_logps, logps, max_log_ratio):
    fixed = logps.detach()
    return ref_logps if (ref_logps - fixed).max() <= max_log_ratio else fixed + max_log_ratio


@wrong(caught_by=bound.brings_far_tokens_to_the_bound)
def reference_if_all_are_far(ref_logps, logps, max_log_ratio):
    ceiling = logps.detach() + max_log_ratio
    return ceiling if (ref_logps > ceiling).all() else ref_logps


@wrong(caught_by=bound.brings_far_tokens_to_the_bound)
def reference_if_all_are_far_with_a_graph(ref_logps, logps, max_log_ratio):
    ceiling = logps + max_log_ratio
    return ceiling if (ref_logps > ceiling).all() else ref_logps


@wrong(caught_by=bound.leaves_near_tokens)
def reference_row_by_row(ref_logps, logps, max_log_ratio):
    ceiling = logps.detach() + max_log_ratio
    is_far_row = (ref_logps > ceiling).any(-1, keepdim=True)
    return torch.where(is_far_row, ceiling, ref_logps)


@wrong(caught_by=bound.trains_near_tokens_as_before)
def reference_with_a_graph_if_one_is_far(ref_logps, logps, max_log_ratio):
    moved = torch.minimum(ref_logps, logps.detach() + max_log_ratio)
    return moved + (logps - logps.detach()) if (moved < ref_logps).any() else moved


@wrong(caught_by=bound.leaves_near_tokens)
def reference_without_inf(ref_logps, logps, max_log_ratio):
    return torch.minimum(ref_logps, logps.detach() + max_log_ratio).nan_to_num()


@wrong(caught_by=bound.leaves_near_tokens)
def reference_as_log_ratio(ref_logps, logps, max_log_ratio):
    return (ref_logps - logps.detach()).clamp(max=max_log_ratio)


@wrong(caught_by=bound.gives_a_tensor_like_ref_logps)
def reference_as_a_mean(ref_logps, logps, max_log_ratio):
    return reference_by_minimum(ref_logps, logps, max_log_ratio).mean()


@wrong(caught_by=bound.gives_a_tensor_like_ref_logps)
def reference_as_a_list(ref_logps, logps, max_log_ratio):
    return reference_by_minimum(ref_logps, logps, max_log_ratio).tolist()
