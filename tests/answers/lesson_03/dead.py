"""Right and wrong answers of exercise 03.1."""

import torch

from course_utils.checks import checking
from course_utils.exercises.lesson_03 import dead
from course_utils.exercises.lesson_03.dead import dead_by_isfinite
from tests.answers import answers_of

right, wrong = answers_of(dead.DEAD)

INF = float("inf")


def _names_where(model, is_dead) -> list[str]:
    return [n for n, p in model.named_parameters() if p.requires_grad and is_dead(p.detach())]


@right
def dead_by_counting(model):
    return _names_where(model, lambda weight: (weight.isnan() | weight.isinf()).sum() > 0)


@right
def dead_by_difference(model):
    # x - x is 0 for ordinary numbers and nan for the others
    return tuple(_names_where(model, lambda weight: ((weight - weight) != 0).any()))


@right
def dead_with_aliases(model):
    named = model.named_parameters(remove_duplicate=False)
    return sorted({n for n, p in named if p.requires_grad and not p.isfinite().all()})


@wrong(caught_by=dead.finds_inf)
def dead_by_isnan(model):
    return _names_where(model, lambda weight: weight.isnan().any())


@wrong(caught_by=dead.finds_nan)
def dead_by_isinf(model):
    return _names_where(model, lambda weight: weight.isinf().any())


@wrong(caught_by=dead.finds_inf)
def dead_above_zero(model):
    return _names_where(model, lambda weight: weight.isnan().any() or (weight == INF).any())


@wrong(caught_by=dead.healthy_is_empty)
def dead_by_sum(model):
    return _names_where(model, lambda weight: not weight.sum().isfinite())


@wrong(caught_by=dead.healthy_is_empty)
def dead_when_large(model):
    return _names_where(model, lambda weight: not (weight.abs() < 1e4).all())


@wrong(caught_by=dead.healthy_is_empty)
def dead_in_float32(model):
    return _names_where(model, lambda weight: not weight.float().isfinite().all())


@wrong(caught_by=dead.skips_what_no_optimizer_touches)
def dead_anywhere(model):
    return [name for name, weight in model.named_parameters() if not weight.isfinite().all()]


@wrong(caught_by=dead.skips_what_no_optimizer_touches)
def dead_in_the_state(model):
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    buffers = {name for name, _ in model.named_buffers()}
    tensors = model.state_dict().items()
    return [n for n, t in tensors if n in trained | buffers and not t.isfinite().all()]


@wrong(caught_by=dead.finds_nan)
def dead_modules(model):
    return [name.rpartition(".")[0] for name in dead_by_isfinite(model)]


@wrong(caught_by=dead.finds_nan)
def dead_last_names(model):
    return [name.rpartition(".")[2] for name in dead_by_isfinite(model)]


@wrong(caught_by=dead.finds_nan)
def dead_score_only(model):
    return [n for n, p in model.named_parameters() if "score" in n and not p.isfinite().all()]


@wrong(caught_by=dead.finds_nan)
def dead_in_half(model):
    return _names_where(
        model, lambda weight: weight.dtype == torch.float16 and not weight.isfinite().all()
    )


@wrong(caught_by=dead.finds_nan)
def dead_first_value(model):
    return _names_where(model, lambda weight: not weight.reshape(-1)[0].isfinite())


@wrong(caught_by=dead.finds_all)
def dead_first_only(model):
    return dead_by_isfinite(model)[:1]


@wrong(caught_by=dead.healthy_is_empty)
def dead_gradients(model):
    return [
        name
        for name, weight in model.named_parameters()
        if weight.grad is not None and not weight.grad.isfinite().all()
    ]


@wrong(caught_by=dead.is_a_list_of_names)
def dead_tensors(model):
    return [p for p in model.parameters() if p.requires_grad and not p.isfinite().all()]


@wrong(caught_by=dead.is_a_list_of_names)
def dead_or_none(model):
    return dead_by_isfinite(model) or None


@wrong(caught_by=dead.is_a_list_of_names)
def dead_lazily(model):
    return (name for name in dead_by_isfinite(model))


@wrong(caught_by=dead.finds_all)
def dead_and_again(model):
    return 2 * dead_by_isfinite(model)


@wrong(caught_by=dead.is_a_list_of_names)
def dead_in_a_set(model):
    return set(dead_by_isfinite(model))


@wrong(caught_by=dead.is_a_list_of_names)
def dead_as_text(model):
    return ", ".join(dead_by_isfinite(model))


@wrong(caught_by=checking.leaves_its_inputs_alone)
def dead_and_mended(model):
    found = dead_by_isfinite(model)
    for weight in model.parameters():
        weight.data.nan_to_num_(0.0)
    return found


@wrong(caught_by=checking.leaves_its_inputs_alone)
def dead_and_in_train_mode(model):
    model.train()
    return dead_by_isfinite(model)


@wrong(caught_by=dead.finds_nan)
def dead_as_a_whole(model):
    return _names_where(model, lambda weight: not weight.isfinite().any())


@wrong(caught_by=dead.finds_nan)
def dead_at_the_top(model):
    named = model.named_parameters(recurse=False)
    return [n for n, p in named if p.requires_grad and not p.isfinite().all()]


@wrong(caught_by=dead.is_a_list_of_names)
def dead_with_counts(model):
    return {name: 1 for name in dead_by_isfinite(model)}
