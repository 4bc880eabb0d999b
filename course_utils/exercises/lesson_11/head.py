"""Exercise 11.1: an adapter on a tied head, merged so that the merged model says the same."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.settings import OverSeeds, over_seeds
from course_utils.reproductions.lesson_11 import jobs, servings
from course_utils.reproductions.lesson_11.adapter_life import logits, right

SEEDS = (0, 1, 2)
AGREE = 0.01  # of a logit; a merge in float32 rounds, which moves one by 1e-4
AT_LEAST = 0.9


@dataclass(frozen=True)
class _Merged:
    """What one call of the answer gave, and the logits of the adapter that it was given."""

    plain: object
    due: Tensor


def _merged(merge: Callable, seed: int) -> _Merged:
    job = jobs.run("B", seed)
    return _Merged(merge(servings.reloaded(job)), logits(job.model))


def _train_all(seeds: tuple[int, ...]) -> None:
    jobs.run_all([("B", seed) for seed in seeds])


def merge_over_seeds(merge: Callable) -> OverSeeds:
    return OverSeeds(lambda seed: _merged(merge, seed), SEEDS, ahead=_train_all)


@over_seeds
def is_a_plain_model(one: _Merged) -> str | None:
    if not isinstance(one.plain, nn.Module):
        return f"it returns a {type(one.plain).__name__}; a model is needed"
    if not hasattr(one.plain, "save_pretrained"):
        return f"it returns a {type(one.plain).__name__}; a model of Transformers is needed"
    layers = [name for name, _ in one.plain.named_modules() if "lora_" in name]
    if layers or hasattr(one.plain, "peft_config"):
        return f"{len(layers)} modules of the adapter are still in the model"
    return None


@over_seeds
def says_the_same(one: _Merged) -> str | None:
    if not isinstance(one.plain, nn.Module):
        return "no model was returned"
    apart = (logits(one.plain) - one.due).abs().max().item()
    if not apart <= AGREE:
        return f"a logit differs by {apart:.2g} from that of the model with its adapter"
    return None


@over_seeds
def survives_a_save(one: _Merged) -> str | None:
    if not isinstance(one.plain, nn.Module) or not hasattr(one.plain, "save_pretrained"):
        return "no model was returned"
    loaded = servings.saved_and_loaded(one.plain)
    share = right(loaded, jobs.JOBS["B"]["task"])
    apart = (logits(loaded) - one.due).abs().max().item()
    if share < AT_LEAST or not apart <= AGREE:
        return (
            f"saved and loaded, {share:.0%} of the held-out sums are right, and a logit differs "
            f"by {apart:.2g}"
        )
    return None


@over_seeds
def says_so_in_its_config(one: _Merged) -> str | None:
    if not isinstance(one.plain, nn.Module) or not hasattr(one.plain, "save_pretrained"):
        return "no model was returned"
    loaded = servings.saved_and_loaded(one.plain)
    head, embedding = loaded.get_output_embeddings(), loaded.get_input_embeddings()
    are_one = torch.equal(head.weight, embedding.weight)
    if loaded.config.tie_word_embeddings and not are_one:
        return "the saved config says that they are tied, and the file holds two matrices"
    return None


def merge_untied(model):
    head = model.get_output_embeddings().base_layer
    head.weight = torch.nn.Parameter(head.weight.detach().clone())
    model.config.tie_word_embeddings = False
    return model.merge_and_unload()


HEAD = Exercise(
    id="11.1",
    name="HEAD",
    title="Merge an adapter on the head",
    minutes=8,
    difficulty="a few lines",
    points=4,
    reads="merge",
    expects=(Callable,),
    hints=(
        "Which weights does `lm_head` share, and with whom? Look at what the table of changes "
        "says about the embedding.",
        "A merge adds the head's change to the tensor that the head holds. If the embedding holds "
        "the same tensor, it gets the change as well. When is the time to part them?",
        "Before the merge, give `model.get_output_embeddings().base_layer` a weight of its own, a "
        "new Parameter. And which setting of the config ties the two again at load?",
    ),
    criteria=(
        Criterion(
            "It returns a model of Transformers, without an adapter.",
            is_a_plain_model,
            why="the point of a merge is a model that any server can load",
            next="end with merge_and_unload(), and return what it returns",
        ),
        Criterion(
            "Its logits are those of the model with its adapter, on three seeds.",
            says_the_same,
            why="a reload of the adapter is exact here and proves nothing about the merge",
            next="compare_models names the weights that differ between the trained model and yours",
        ),
        Criterion(
            "Saved and loaded, it is still the same, and right on held-out sums.",
            survives_a_save,
            why="a server reads the files, and the config says how they are put together",
            next="print model.config.tie_word_embeddings of the model that you return",
        ),
        Criterion(
            "Its saved config says whether head and embedding are tied.",
            says_so_in_its_config,
            why="Transformers 5 loads both all the same; other servers drop one of the two",
            next="which setting of the config says that the two are one tensor?",
        ),
    ),
    answer=merge_untied,
    run=merge_over_seeds,
    may_change=(0,),
    time_limit_s=120.0,
)
