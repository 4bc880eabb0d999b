"""A second stage on top of a first one, and runs that are stopped and resumed."""

import copy

from peft import PeftModel

from course_utils.reproductions.lesson_11 import servings
from course_utils.reproductions.lesson_11.adapter_life import (
    TASKS,
    adapter,
    base_model,
    batches,
    fit,
    right,
    train,
)

LATER = 5  # losses that are shown after the stop


def second_stage(seed: int) -> dict[str, float]:
    """Stage 1 is merged in memory; stage 2 is saved, and served by what its own file says."""
    first = train(seed=seed)
    base = servings.merged(first)
    second = train(task="plus one, full stop", seed=seed, on=copy.deepcopy(base))
    with servings.saved(second.model) as folder:
        by_file = PeftModel.from_pretrained(base_model(), folder)
        by_hand = PeftModel.from_pretrained(copy.deepcopy(base), folder)
    return {
        "on the merged stage 1": right(by_hand, "plus one, full stop"),
        "on the base that its file names": right(by_file, "plus one, full stop"),
        "content of the base, form of stage 2": right(by_file, "full stop"),
    }


def resumed(seed: int, *, stop: int = 15) -> dict[str, list[float]]:
    """The losses before a stop and after it, for a run that loads its adapter and one that does
    not: the second wraps the base anew."""
    steps = batches("plus one", TASKS["plus one"].num_steps, seed)
    rate = TASKS["plus one"].rate
    model = adapter(seed=seed)
    before = fit(model, steps[:stop], rate=rate)[-1:]
    with servings.saved(model) as folder:
        loaded = PeftModel.from_pretrained(base_model(), folder, is_trainable=True)
    anew = adapter(seed=seed + 1)
    after = {
        "loaded": fit(loaded, steps[stop:], rate=rate),
        "anew": fit(anew, steps[stop:], rate=rate),
    }
    found = {name: [*before, *losses[:LATER]] for name, losses in after.items()}
    return found | {"right at the end": [right(m, "plus one") for m in (loaded, anew)]}
