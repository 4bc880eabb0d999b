"""Right and wrong answers of exercise 06.2."""

from course_utils.checks import checking
from course_utils.exercises.lesson_06 import silent
from course_utils.exercises.lesson_06.silent import without_gradient_by_none
from tests.answers import answers_of

right, wrong = answers_of(silent.SILENT)


def _names(model, is_meant) -> list[str]:
    return [name for name, weight in model.named_parameters() if is_meant(name, weight)]


@right
def without_gradient_by_sets(model):
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    reached = {name for name, p in trained.items() if p.grad is not None}
    return set(trained) - reached


@wrong(caught_by=silent.healthy_first_step_is_empty)
def without_gradient_by_zero(model):
    return _names(model, lambda n, p: p.requires_grad and (p.grad is None or not p.grad.any()))


@wrong(caught_by=silent.finds_starved_adapters)
def without_gradient_among_all(model):
    return _names(model, lambda n, p: p.grad is None)


@wrong(caught_by=silent.finds_starved_adapters)
def without_gradient_by_flag(model):
    return _names(model, lambda n, p: not p.requires_grad)


@wrong(caught_by=silent.finds_starved_adapters)
def without_gradient_in_lora_b(model):
    return _names(model, lambda n, p: "lora_B" in n and p.grad is None)


@wrong(caught_by=silent.finds_unused_head)
def without_gradient_in_lora(model):
    return _names(model, lambda n, p: "lora" in n and p.grad is None)


@wrong(caught_by=silent.finds_part_of_them)
def without_gradient_all_or_nothing(model):
    starved = without_gradient_by_none(model)
    adapters = _names(model, lambda n, p: "lora" in n)
    return starved if not set(adapters) - set(starved) or "score.weight" in starved else []


@right
def without_gradient_by_filter(model):
    starved = filter(lambda item: item[1].requires_grad, model.named_parameters())
    return tuple(name for name, weight in starved if weight.grad is None)


@wrong(caught_by=checking.leaves_its_inputs_alone)
def without_gradient_and_wipes(model):
    found = without_gradient_by_none(model)
    model.zero_grad()
    return found


@wrong(caught_by=checking.leaves_its_inputs_alone)
def without_gradient_and_thaws(model):
    model.requires_grad_(True)
    return without_gradient_by_none(model)


@wrong(caught_by=silent.names_in_a_list)
def without_gradient_as_weights(model):
    return [p for p in model.parameters() if p.requires_grad and p.grad is None]


@wrong(caught_by=silent.names_in_a_list)
def without_gradient_as_a_count(model):
    return len(without_gradient_by_none(model))


@wrong(caught_by=silent.names_in_a_list)
def without_gradient_as_a_generator(model):
    return (name for name in without_gradient_by_none(model))


@wrong(caught_by=silent.finds_starved_adapters)
def without_gradient_by_last_name(model):
    return [name.split(".")[-1] for name in without_gradient_by_none(model)]


@wrong(caught_by=silent.a_gradient_of_nan_is_one)
def without_gradient_by_finite_norm(model):
    return _names(
        model,
        lambda n, p: p.requires_grad and (p.grad is None or not bool((p.grad.abs() >= 0).any())),
    )


@wrong(caught_by=silent.other_names_are_found)
def without_gradient_of_matrices(model):
    return _names(model, lambda n, p: p.requires_grad and p.grad is None and p.dim() == 2)


@wrong(caught_by=silent.other_names_are_found)
def without_gradient_of_the_parts(model):
    return [
        f"{part}.{name}"
        for part, module in model.named_children()
        for name in without_gradient_by_none(module)
    ]


@wrong(caught_by=silent.other_names_are_found)
def without_gradient_with_short_names(model):
    return [n.replace("base_model.model.", "") for n in without_gradient_by_none(model)]
