"""Exercise 11.2: a served model the lesson has not shown; four kinds, one fault each."""

from dataclasses import replace

import torch
from torch import nn

from course_utils.checks.broken_script import Asked, Diagnosis, Variant, of_the_mend, of_the_runs
from course_utils.checks.declare import Criterion
from course_utils.checks.settings import OverSeeds
from course_utils.reproductions.lesson_11 import unseen_11
from course_utils.reproductions.lesson_11.adapter_life import logits_apart
from course_utils.reproductions.lesson_11.unseen_11 import Run

SEEDS = (0, 1, 2)
AGREE = 0.01  # of a logit; adding in float32 rounds, which moves one by 2e-4


class Tried(Diagnosis):
    """A diagnosis, and the models served with its fix."""

    def __init__(self, unseen: dict, variant: Variant) -> None:
        super().__init__(unseen, variant)
        self.runs = OverSeeds(self.fresh, SEEDS)

    def fresh(self, seed: int) -> Run | str:
        """The run, or why the server cannot use what the part gives it."""
        try:
            return self.variant.ticket.fresh(seed, **{self.place: self.fix})
        except KeyError as unknown:
            return f"the served model has no weight that is called {unknown}"
        except (AttributeError, RuntimeError, TypeError) as error:
            return f"the server cannot use what your part returns: {error}"


@of_the_mend
@of_the_runs
def serves_what_was_trained(run: Run | str) -> str | None:
    if isinstance(run, str):
        return run
    if not isinstance(run.served, nn.Module) or not all(
        bool(weight.isfinite().all()) for weight in run.served.parameters()
    ):
        return "the served model has weights that are not finite"
    apart = logits_apart(run.live, run.served)
    if not apart <= AGREE:
        return f"a logit of the served model differs by {apart:.2g} from that of the live one"
    return None


@of_the_mend
def reads_the_settings(tried: Tried) -> str | None:
    """Adapters of another kind and size."""
    a, b = torch.ones(4, 8), torch.ones(8, 4)
    for rooted, due in ((False, 3.0), (True, 6.0)):
        settings = {"r": 4, "lora_alpha": 3, "use_rslora": rooted, "peft_type": "LORA"}
        got = tried.fix(a.clone(), b.clone(), dict(settings))
        if not isinstance(got, torch.Tensor) or got.shape != (8, 8):
            return "it returns no change of the shape of the weight"
        if not torch.allclose(got, torch.full((8, 8), due), atol=1e-4):
            said = f"r 4, alpha 3 and use_rslora {rooted}"
            return f"with {said} and matrices of ones it gives {float(got[0, 0]):.3g}, not {due:g}"
    return None


@of_the_mend
def loads_again(tried: Tried) -> str | None:
    """One weight, loaded three times."""
    weights, changes = {"up.weight": torch.ones(2, 2)}, {"up.weight": torch.full((2, 2), 2.0)}
    for times in (1, 2, 3):
        with torch.no_grad():
            tried.fix(weights, dict(changes), {"up.weight": torch.ones(2, 2)})
        got = weights["up.weight"].mean().item()
        if abs(got - 3) > 1e-4:
            return f"a weight of 1 with a change of 2 is {got:.3g} after load {times}, not 3"
    return None


@of_the_mend
def takes_what_it_is_given(tried: Tried) -> str | None:
    """Two models of one weight each."""
    models = {name: nn.Linear(1, 1) for name in (unseen_11.FIRST, unseen_11.ORIGINAL)}
    got = tried.fix({"base_model_name_or_path": unseen_11.ORIGINAL}, dict(models))
    asked = models[unseen_11.FIRST].weight
    if isinstance(got, nn.Linear) and torch.equal(got.weight, asked):
        return None
    return "given two other models, it does not return stage 1 of them"


ASKED = Asked(
    id="11.2",
    minutes=11,
    hints=(
        "Compare three completions of each prompt: live, served, stage 1. Do number and full stop "
        "go wrong together?",
        "deltas.by_part compares what the adapter asks for with what the served model has: the "
        "size, the part, or the base that it is measured from?",
        "Read the part that can do what you saw, with the settings of the folder beside it, and "
        "remember that the server loads twice.",
    ),
    place_next="replace one part at a time by one of your own, and look at the completions again",
    cause_next="what would your cause do to the number, and what to the full stop?",
    tried=Tried,
    time_limit_s=120.0,
)
SERVES = Criterion(
    "The served model says what the trained one says, on three seeds.",
    serves_what_was_trained,
    why="equal scores are not equal models; the logits are",
    next="call patient.fresh(1, ...) with your part, and compare_models on live and served",
)
SETTINGS = Criterion(
    "An adapter with other settings is served as it was trained, too.",
    reads_the_settings,
    why="the next adapter has another rank, or is divided by r itself",
    next="call your part with use_rslora False and with True",
)
GIVEN = Criterion(
    "Stage 1 is taken from the models that the part is given.",
    takes_what_it_is_given,
    why="the next adapter stands on another stage 1",
    next="call your part with two small models of your own",
)
AGAIN = Criterion(
    "The served weights are the same after each load.",
    loads_again,
    why="a server may load once, and it may load again at any time",
    next="call your part once, then twice, on one small weight",
)


def changes(a, b, settings):
    root = settings["r"] ** 0.5
    scale = settings["lora_alpha"] / (root if settings["use_rslora"] else settings["r"])
    return scale * b @ a


BASE = ASKED.on(
    Variant(unseen_11.follows_the_file(), "base", "a"),
    "An unseen server: old numbers",
    mend=unseen_11.base,
    mended=(SERVES, GIVEN),
)
HALVES = ASKED.on(
    Variant(unseen_11.fused_halves(), "place", "b"),
    "An unseen server: wrong numbers",
    mend=unseen_11.place,
    mended=(SERVES,),
)
SCALE = ASKED.on(
    Variant(unseen_11.scaled_by_the_paper(), "change", "c"),
    "An unseen server: no full stop",
    mend=changes,
    mended=(SERVES, SETTINGS),
)
TWICE = ASKED.on(
    Variant(unseen_11.loaded_in_place(), "load", "d"),
    "An unseen server: too much of it",
    mend=unseen_11.load,
    mended=(SERVES, AGAIN),
    may_change=(0,),
)
UNSEEN = replace(SCALE, also=(BASE, TWICE, HALVES))
