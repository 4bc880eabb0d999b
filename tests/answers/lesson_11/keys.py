"""Right and wrong answers of exercise 11.7."""

import math
import re

from course_utils.exercises.lesson_11 import keys
from course_utils.exercises.lesson_11.keys import keys_both_ways
from tests.answers import answers_of

right, wrong = answers_of(keys.KEYS)


@right
def by_a_pattern(file, model):
    """Sets in place of lists, and the name cut by a pattern."""
    names = {re.sub(r"\.default(?=\.weight$)", "", name): name for name in model}
    common = {(n, s) for n, s in file.items()} & {(n, model[m]) for n, m in names.items()}
    ours = {name for name, _ in common}
    return {
        "filled": {names[name] for name in ours},
        "missing": {m for n, m in names.items() if n not in ours},
        "unexpected": {n for n in file if n not in ours},
    }


@right
def from_the_file(file, model):
    """Writes the adapter's name into the file's names."""
    found = {"filled": [], "missing": list(model), "unexpected": []}
    for name, shape in file.items():
        at = name.removesuffix(".weight") + ".default.weight"
        if model.get(at) == shape:
            found["filled"].append(at)
            found["missing"].remove(at)
        else:
            found["unexpected"].append(name)
    return found


@wrong(caught_by=keys.gives_three_lists)
def missing_only(file, model):
    return keys_both_ways(file, model)["missing"]


@wrong(caught_by=keys.gives_three_lists)
def as_counts(file, model):
    return {part: len(names) for part, names in keys_both_ways(file, model).items()}


@wrong(caught_by=keys.gives_three_lists)
def as_peft_names_them(file, model):
    found = keys_both_ways(file, model)
    return {"missing_keys": found["missing"], "unexpected_keys": found["unexpected"]}


@wrong(caught_by=keys.finds_the_filled)
def names_as_they_are(file, model):
    """The adapter's name stays in the model's names."""
    same = {name for name in model if file.get(name) == model[name]}
    return {
        "filled": sorted(same),
        "missing": sorted(set(model) - same),
        "unexpected": sorted(set(file) - same),
    }


@wrong(caught_by=keys.finds_the_filled)
def default_anywhere(file, model):
    """Cuts every `default`, also the name of a part of the model."""
    names = {name.replace(".default", ""): name for name in model}
    return _compared(file, model, names)


@wrong(caught_by=keys.finds_the_filled)
def names_of_the_file(file, model):
    """filled in the file's names."""
    found = keys_both_ways(file, model)
    return found | {"filled": [n.replace(".default.weight", ".weight") for n in found["filled"]]}


def _compared(file, model, names):
    fits = {n for n, shape in file.items() if n in names and model[names[n]] == shape}
    filled = {names[name] for name in fits}
    return {
        "filled": sorted(filled),
        "missing": sorted(set(model) - filled),
        "unexpected": sorted(set(file) - fits),
    }


@wrong(caught_by=keys.finds_the_missing)
def ends_alike(file, model):
    """A name with another prefix counts as the same name."""
    whole = {n: n.removeprefix("language_model.") for n in file}
    found = keys_both_ways({whole[n]: shape for n, shape in file.items()}, model)
    return found


@wrong(caught_by=keys.finds_the_missing)
def nothing_is_missing_of_an_empty_file(file, model):
    found = keys_both_ways(file, model)
    return found if file else found | {"missing": []}


@wrong(caught_by=keys.finds_the_unexpected)
def no_look_at_the_rest_of_the_file(file, model):
    return keys_both_ways(file, model) | {"unexpected": []}


@wrong(caught_by=keys.finds_the_unexpected)
def unexpected_by_count(file, model):
    """As many as the file has more than the model."""
    found = keys_both_ways(file, model)
    more = max(len(file) - len(model), 0)
    return found | {"unexpected": found["unexpected"][:more]}


@wrong(caught_by=keys.compares_shapes)
def names_alone(file, model):
    names = {name.replace(".default.weight", ".weight"): name for name in model}
    fits = set(file) & set(names)
    filled = {names[name] for name in fits}
    return {
        "filled": sorted(filled),
        "missing": sorted(set(model) - filled),
        "unexpected": sorted(set(file) - fits),
    }


@wrong(caught_by=keys.compares_shapes)
def as_many_numbers(file, model):
    """Compares the number of axes, not the shape."""
    names = {name.replace(".default.weight", ".weight"): name for name in model}
    return _compared(
        {n: len(s) for n, s in file.items()}, {n: len(s) for n, s in model.items()}, names
    )


@wrong(caught_by=keys.compares_shapes)
def as_many_weights(file, model):
    """A transposed matrix has as many weights."""
    names = {name.replace(".default.weight", ".weight"): name for name in model}
    sizes = [{n: math.prod(shape) for n, shape in one.items()} for one in (file, model)]
    return _compared(*sizes, names)


@wrong(caught_by=keys.compares_shapes)
def a_layer_is_filled_when_lora_a_is(file, model):
    found = keys_both_ways(file, model)
    layers = {name.rpartition(".lora_A.")[0] for name in found["filled"]}
    filled = [name for name in model if name.rpartition(".lora_")[0] in layers]
    return found | {"filled": filled, "missing": sorted(set(model) - set(filled))}


@wrong(caught_by=keys.compares_shapes)
def another_shape_is_expected_all_the_same(file, model):
    """A tensor of a known name is not in `unexpected`, whatever its shape."""
    names = {name.replace(".default.weight", ".weight") for name in model}
    return keys_both_ways(file, model) | {"unexpected": sorted(set(file) - names)}


@wrong(caught_by=keys.finds_the_filled)
def all_or_nothing(file, model):
    found = keys_both_ways(file, model)
    if not found["missing"]:
        return found
    return {"filled": [], "missing": list(model), "unexpected": list(file)}


@wrong(caught_by=keys.gives_three_lists)
def with_a_list_of_its_own(file, model):
    return keys_both_ways(file, model) | {"of another shape": []}


@right
def popped_from_a_copy(file, model):
    rest, filled = dict(file), []
    for name, shape in model.items():
        written = name[: -len("default.weight")] + "weight"
        if rest.get(written) == shape:
            del rest[written]
            filled.append(name)
    return {
        "filled": filled,
        "missing": [name for name in model if name not in filled],
        "unexpected": list(rest),
    }
