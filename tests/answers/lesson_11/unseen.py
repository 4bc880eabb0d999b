"""Right and wrong answers of exercise 11.2."""

import copy
import re

import torch

from course_utils.exercises.lesson_11 import unseen
from course_utils.exercises.lesson_11.unseen import changes
from course_utils.reproductions.lesson_11 import unseen_11
from tests.answers.forms import mends_of

base = mends_of(unseen.BASE)
halves = mends_of(unseen.HALVES)
scale = mends_of(unseen.SCALE)
twice = mends_of(unseen.TWICE)


# --- the base -----------------------------------------------------------------------------------


@base.right
def the_other_one(settings, models):
    named = settings["base_model_name_or_path"]
    [other] = [model for name, model in models.items() if name != named]
    return other


@base.right_in_capitals
def a_copy_of_stage_1(settings, models):
    return copy.deepcopy(models["stage_1"]).eval()


@base.wrong(caught_by=unseen.serves_what_was_trained)
def the_first_of_all(settings, models):
    return next(iter(models.values()))


@base.wrong(caught_by=unseen.serves_what_was_trained)
@torch.no_grad()
def half_way(settings, models):
    model = copy.deepcopy(models["original"])
    for weight, other in zip(model.parameters(), models["stage_1"].parameters(), strict=True):
        weight.lerp_(other, 0.5)
    return model


@base.wrong(caught_by=unseen.serves_what_was_trained)
def in_bfloat16(settings, models):
    return copy.deepcopy(models["stage_1"]).bfloat16().float()


# --- the place ----------------------------------------------------------------------------------


@halves.right
def up_to_the_matrix(key):
    return key.split(".lora_")[0].replace("base_model.model.", "", 1) + ".weight"


@halves.right_in_capitals
def from_the_end(key):
    *path, _, _ = key.split(".")
    return ".".join([*path[2:], "weight"])


@halves.wrong(caught_by=unseen.serves_what_was_trained)
def both_on_gate(key):
    return up_to_the_matrix(key).replace("up_proj", "gate_proj")


@halves.wrong(caught_by=unseen.serves_what_was_trained)
def right_in_one_layer(key):
    if "layers.0." in key:
        return up_to_the_matrix(key)
    return unseen_11.place_in_a_fused_layer(key)


@halves.wrong(caught_by=unseen.serves_what_was_trained)
def q_and_o_as_well(key):
    swapped = {"q_proj": "o_proj", "o_proj": "q_proj"}
    path, _, name = up_to_the_matrix(key).removesuffix(".weight").rpartition(".")
    return f"{path}.{swapped.get(name, name)}.weight"


# --- the size -----------------------------------------------------------------------------------


@scale.right
def by_the_root_if_asked(a, b, settings):
    r, alpha = a.shape[0], settings["lora_alpha"]
    return (b @ a) * (alpha / r**0.5 if settings.get("use_rslora") else alpha / r)


@scale.right_in_capitals
def in_float64(a, b, settings):
    by = settings["r"] ** -(0.5 if settings["use_rslora"] else 1.0)
    return (settings["lora_alpha"] * by * (b.double() @ a.double())).float()


@scale.wrong(caught_by=unseen.serves_what_was_trained)
def without_a_scale(a, b, settings):
    return b @ a


@scale.wrong(caught_by=unseen.serves_what_was_trained)
def alpha_alone(a, b, settings):
    return settings["lora_alpha"] * (b @ a)


@scale.wrong(caught_by=unseen.serves_what_was_trained)
def nearly(a, b, settings):
    return 1.05 * changes(a, b, settings)


@scale.wrong(caught_by=unseen.reads_the_settings)
def always_the_root(a, b, settings):
    return settings["lora_alpha"] / settings["r"] ** 0.5 * (b @ a)


@scale.wrong(caught_by=unseen.reads_the_settings)
def four_times(a, b, settings):
    """The root of r 16."""
    return 4 * settings["lora_alpha"] / settings["r"] * (b @ a)


# --- the load -----------------------------------------------------------------------------------


@twice.right
def all_weights(weights, changes, original):
    for name, weight in weights.items():
        weight.copy_(original[name] + changes.get(name, 0))


@twice.right_in_capitals
def what_is_missing(weights, changes, original):
    for name, change in changes.items():
        weights[name].add_(original[name] + change - weights[name])


@twice.wrong(caught_by=unseen.serves_what_was_trained)
def half_each(weights, changes, original):
    """Right for two loads that follow each other, and rounded; the second undoes the first."""
    for name, change in changes.items():
        weights[name].copy_(original[name] + change / 2)


@twice.wrong(caught_by=unseen.serves_what_was_trained)
def the_change_alone(weights, changes, original):
    for name, change in changes.items():
        weights[name].copy_(change)


@twice.wrong(caught_by=unseen.serves_what_was_trained)
def not_at_all(weights, changes, original):
    for name in changes:
        weights[name].copy_(original[name])


@twice.wrong(caught_by=unseen.loads_again)
def half_each_in_place(weights, changes, original):
    """Right after two loads, and after no other number of them."""
    for name, change in changes.items():
        weights[name].add_(change / 2)


# --- a second set -------------------------------------------------------------------------------


@base.right
def the_name_of_the_file_put_right(settings, models):
    named = settings["base_model_name_or_path"]
    return models["stage_1" if named == "original" else named]


@base.wrong(caught_by=unseen.serves_what_was_trained)
def its_name(settings, models):
    return "stage_1"


@base.wrong(caught_by=unseen.serves_what_was_trained)
def all_of_them(settings, models):
    return models


@base.wrong(caught_by=unseen.takes_what_it_is_given)
def of_another_run(settings, models):
    """Stage 1 is the same for all seeds of this exercise."""
    return unseen_11.follows_the_file().fresh(0).first


@halves.right
def by_a_pattern(key):
    return re.fullmatch(r"base_model\.model\.(.*)\.lora_[AB]\.weight", key)[1] + ".weight"


@halves.wrong(caught_by=unseen.serves_what_was_trained)
def with_the_prefix(key):
    return key.rpartition(".lora_")[0] + ".weight"


@halves.wrong(caught_by=unseen.serves_what_was_trained)
def the_layer_and_not_its_weight(key):
    return up_to_the_matrix(key).removesuffix(".weight")


@halves.wrong(caught_by=unseen.serves_what_was_trained)
def one_layer_on_another(key):
    return up_to_the_matrix(key).replace("layers.0.", "layers.1.")


@scale.right
def rooted_afterwards(a, b, settings):
    plain = settings["lora_alpha"] / settings["r"] * torch.einsum("or,ri->oi", b, a)
    return plain * settings["r"] ** 0.5 if settings["use_rslora"] else plain


@scale.wrong(caught_by=unseen.serves_what_was_trained)
def the_root_of_alpha_as_well(a, b, settings):
    return (settings["lora_alpha"] / settings["r"]) ** 0.5 * (b @ a)


@scale.wrong(caught_by=unseen.serves_what_was_trained)
def transposed(a, b, settings):
    return changes(a, b, settings).T


@scale.wrong(caught_by=unseen.reads_the_settings)
def the_number_of_this_run(a, b, settings):
    return 2.0 * (b @ a)


@twice.right
def where_the_base_still_stands(weights, changes, original):
    for name, change in changes.items():
        if torch.equal(weights[name], original[name]):
            weights[name].add_(change)


@twice.right
def all_put_back_first(weights, changes, original):
    for name, weight in weights.items():
        weight.copy_(original[name])
    for name, change in changes.items():
        weights[name].add_(change)


@twice.wrong(caught_by=unseen.serves_what_was_trained)
def other_tensors_in_the_dict(weights, changes, original):
    """The model keeps its own."""
    for name, change in changes.items():
        weights[name] = original[name] + change


@twice.wrong(caught_by=unseen.serves_what_was_trained)
def twice_the_change_each_time(weights, changes, original):
    for name, change in changes.items():
        weights[name].copy_(original[name] + 2 * change)


base.misdiagnoses(
    unmended=unseen.serves_what_was_trained, elsewhere={"place": "load", "fix": unseen_11.load}
)
halves.misdiagnoses(
    unmended=unseen.serves_what_was_trained, elsewhere={"place": "change", "fix": changes}
)
scale.misdiagnoses(
    unmended=unseen.serves_what_was_trained, elsewhere={"place": "place", "fix": unseen_11.place}
)
twice.misdiagnoses(
    unmended=unseen.serves_what_was_trained, elsewhere={"place": "base", "fix": unseen_11.base}
)
