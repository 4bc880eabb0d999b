"""Right and wrong answers of exercise 05.1."""

import math

import torch

from course_utils.exercises.lesson_05 import peaks
from course_utils.exercises.lesson_05.peaks import peaks_with_hooks
from tests.answers import answers_of

right, wrong = answers_of(peaks.PEAKS)


@right
def peaks_one_by_one(model, batch, names):
    found = {}
    for name in names:
        seen = []
        module = model.get_submodule(name)
        hook = module.register_forward_hook(lambda m, i, out, seen=seen: seen.append(out))
        with torch.no_grad():
            model(**batch)
        hook.remove()
        found[name] = float(torch.linalg.vector_norm(seen[0].flatten(), ord=float("inf")))
    return found


@wrong(caught_by=peaks.gives_a_dict_by_name)
def peaks_late_name(model, batch, names):
    found, hooks = {}, []
    for name in names:
        module = model.get_submodule(name)
        hooks.append(
            module.register_forward_hook(lambda m, i, o: found.update({name: o.abs().max().item()}))  # noqa: B023
        )
    model(**batch)
    [hook.remove() for hook in hooks]
    return found


@wrong(caught_by=peaks.magnitude_counts)
def peaks_without_abs(model, batch, names):
    found, hooks = {}, []
    for name in names:

        def note(module, inputs, output, name=name):
            found[name] = output.max().item()

        hooks.append(model.get_submodule(name).register_forward_hook(note))
    model(**batch)
    [hook.remove() for hook in hooks]
    return found


@wrong(caught_by=peaks.each_module_by_name)
def peaks_of_inputs(model, batch, names):
    found, hooks = {}, []
    for name in names:

        def note(module, inputs, name=name):
            found[name] = inputs[0].abs().max().item()

        hooks.append(model.get_submodule(name).register_forward_pre_hook(note))
    model(**batch)
    [hook.remove() for hook in hooks]
    return found


@wrong(caught_by=peaks.magnitude_counts)
def peaks_that_change_the_model(model, batch, names):
    found = {}
    hooks = [
        model.get_submodule(name).register_forward_hook(
            lambda module, inputs, output, name=name: found.setdefault(name, output.abs().max())
        )
        for name in names
    ]
    model(**batch)
    [hook.remove() for hook in hooks]
    return found


@wrong(caught_by=peaks.leaves_the_model_alone)
def peaks_left_behind(model, batch, names):
    found = {}
    for name in names:

        def note(module, inputs, output, name=name):
            found[name] = output.abs().max().item()

        model.get_submodule(name).register_forward_hook(note)
    model(**batch)
    return found


@wrong(caught_by=peaks.bad_numbers_show)
def peaks_of_finite(model, batch, names):
    found = peaks_with_hooks(model, batch, names)
    return {name: value if math.isfinite(value) else 0.0 for name, value in found.items()}


@wrong(caught_by=peaks.each_module_by_name)
def peaks_of_the_first_row(model, batch, names):
    found, hooks = {}, []
    for name in names:

        def note(module, inputs, output, name=name):
            found[name] = output[0].abs().max().item()

        hooks.append(model.get_submodule(name).register_forward_hook(note))
    model(**batch)
    [hook.remove() for hook in hooks]
    return found


@wrong(caught_by=peaks.gives_a_dict_by_name)
def peaks_as_a_list(model, batch, names):
    return list(peaks_with_hooks(model, batch, names).values())


@wrong(caught_by=peaks.gives_a_dict_by_name)
def peaks_by_last_name(model, batch, names):
    found = peaks_with_hooks(model, batch, names)
    return {name.split(".")[-1]: value for name, value in found.items()}


@wrong(caught_by=peaks.leaves_the_model_alone)
def peaks_in_eval_mode(model, batch, names):
    model.eval()
    return peaks_with_hooks(model, batch, names)


@wrong(caught_by=peaks.leaves_the_model_alone)
def peaks_that_clear_all_hooks(model, batch, names):
    found = peaks_with_hooks(model, batch, names)
    for module in model.modules():
        module._forward_hooks.clear()
    return found


@wrong(caught_by=peaks.each_module_by_name)
def peaks_as_norms(model, batch, names):
    found = {}
    hooks = [
        model.get_submodule(name).register_forward_hook(
            lambda module, inputs, output, name=name: found.update({name: output.norm().item()})
        )
        for name in names
    ]
    with torch.no_grad():
        model(**batch)
    [hook.remove() for hook in hooks]
    return found


@right
@torch.no_grad()
def peaks_by_extremes(model, batch, names):
    """By the smallest and the largest, as 0-d tensors, in another order of names."""
    found, hooks = {}, []
    for name in reversed(names):

        def note(module, inputs, output, name=name):
            low, high = output.aminmax()
            found[name] = torch.maximum(high, -low)

        hooks.append(model.get_submodule(name).register_forward_hook(note))
    model(**batch)
    for hook in hooks:
        hook.remove()
    return found


@wrong(caught_by=peaks.leaves_the_model_alone)
def peaks_in_train_mode(model, batch, names):
    found = peaks_with_hooks(model, batch, names)
    model.train()
    return found


@wrong(caught_by=peaks.leaves_the_model_alone)
def peaks_with_the_roots_mode_restored(model, batch, names):
    was = model.training
    model.eval()
    found = peaks_with_hooks(model, batch, names)
    model.train(was)  # and with it every module
    return found


@right
def peaks_with_modes_restored(model, batch, names):
    modes = [(module, module.training) for module in model.modules()]
    found = peaks_with_hooks(model.eval(), batch, names)
    for module, was in modes:
        module.training = was
    return found


@wrong(caught_by=peaks.gives_a_dict_by_name)
def peaks_as_text(model, batch, names):
    return {name: f"{value:g}" for name, value in peaks_with_hooks(model, batch, names).items()}


@wrong(caught_by=peaks.magnitude_counts)
def peaks_in_float16(model, batch, names):
    found = {}
    hooks = [
        model.get_submodule(name).register_forward_hook(
            lambda module, inputs, output, name=name: found.update(
                {
                    name: output.abs().max().half().float().item()
                    if output.max() > 6e4
                    else output.abs().max().item()
                }
            )
        )
        for name in names
    ]
    model(**batch)
    [hook.remove() for hook in hooks]
    return found


@wrong(caught_by=peaks.leaves_the_model_alone)
def peaks_with_gradients_off(model, batch, names):
    torch.set_grad_enabled(False)
    return peaks_with_hooks(model, batch, names)


@wrong(caught_by=peaks.leaves_the_model_alone)
def peaks_without_its_gradients(model, batch, names):
    found = peaks_with_hooks(model, batch, names)
    model.zero_grad()
    return found


@wrong(caught_by=peaks.magnitude_counts)
def peaks_of_halves(model, batch, names):
    found, hooks = {}, []
    for name in names:

        def note(module, inputs, output, name=name):
            found[name] = output.half().abs().max().float().item()

        hooks.append(model.get_submodule(name).register_forward_hook(note))
    model(**batch)
    [hook.remove() for hook in hooks]
    return found
