"""Exercise 11.5: settings of LoRA with which the mixture learns its task."""

from dataclasses import dataclass

from course_utils.checks.declare import Criterion, Exercise, not_tested
from course_utils.checks.settings import OverSeeds, only, over_seeds
from course_utils.diagnostics import adapter_reach
from course_utils.diagnostics.reach.groups import EXPERTS as OF_EXPERTS
from course_utils.diagnostics.reach.groups import ROUTER
from course_utils.reproductions.lesson_11 import jobs, servings
from course_utils.reproductions.lesson_11.adapter_life import Trained, adapter, right

SEEDS = (0, 1, 2)
MOST, AT_LEAST = 0.1, 0.2
ASKED = (
    "r",
    "lora_alpha",
    "use_rslora",
    "target_modules",
    "target_parameters",
    "modules_to_save",
    "exclude_modules",
)
TASK = jobs.JOBS["D"]["task"]


@dataclass
class _Tried:
    """What the settings reach, without a step; and the trained jobs, where it is asked."""

    settings: dict

    def __post_init__(self) -> None:
        self.refused = self.groups = None
        self.runs = OverSeeds(self.train, SEEDS, ahead=self.train_all)
        try:
            model = adapter("mixture", **self.settings)
        except (ValueError, TypeError, KeyError, RuntimeError) as error:
            self.refused = f"PEFT refuses these settings: {str(error)[:200]}"
            return
        self.groups = adapter_reach(model).groups
        sizes = [weight.numel() for weight in model.parameters() if weight.requires_grad]
        num_base = sum(group.num_weights for group in self.groups.values())
        self.share = sum(sizes) / num_base

    def train(self, seed: int) -> Trained:
        return jobs.run("D", seed, **self.settings)

    def train_all(self, seeds: tuple[int, ...]) -> None:
        jobs.run_all([("D", seed) for seed in seeds], **self.settings)


def reaches_the_experts(tried: _Tried) -> str | None:
    if tried.refused:
        return tried.refused
    experts = tried.groups[OF_EXPERTS]
    if experts.is_whole:
        return None
    reached = experts.num_adapted + experts.num_trained
    return f"{reached} of {experts.num_matrices} tensors of the experts can change"


def leaves_the_router(tried: _Tried) -> str | None:
    if tried.refused:
        return not_tested("there is no adapter")
    router = tried.groups[ROUTER]
    if not router.is_reached:
        return None
    return f"{router.num_adapted + router.num_trained} tensors of the router can change"


def is_an_adapter(tried: _Tried) -> str | None:
    if tried.refused:
        return not_tested("there is no adapter")
    if tried.share <= MOST:
        return None
    return f"the trained weights are {tried.share:.0%} of the model's"


def is_learned_and_served(tried: _Tried) -> str | None:
    if reaches_the_experts(tried) or leaves_the_router(tried) or is_an_adapter(tried):
        return not_tested("a criterion above it is not met")
    return _is_right(tried.runs)


@over_seeds
def _is_right(run: Trained) -> str | None:
    share = right(servings.saved_and_loaded(servings.merged(run)), TASK)
    return None if share >= AT_LEAST else f"{share:.0%} of the held-out sums are right"


EXPERTS = Exercise(
    id="11.5",
    name="EXPERTS",
    title="Reach the experts",
    minutes=7,
    difficulty="a dict of settings",
    points=4,
    reads="settings",
    expects=(dict,),
    hints=(
        "Which tensors of the table have no adapter, and are they layers or bare parameters?",
        "`target_modules` finds layers by their names. Here the weights of all experts of a layer "
        "are one parameter, and LoraConfig has another setting for such parameters.",
        'Name both parameters as adapter_reach does, such as "mlp.experts.down_proj", in '
        "`target_parameters`, and let target_modules name the attention.",
    ),
    form=only(*ASKED),
    criteria=(
        Criterion(
            "Every tensor of the experts can change.",
            reaches_the_experts,
            why="what has no adapter stays as it is, however long the run",
            next="call adapter_reach(base, LoraConfig(...)) with your settings; it trains nothing",
        ),
        Criterion(
            "The router stays as it was.",
            leaves_the_router,
            why="the task asks for other digits, not for other routes; one change at a time",
            next="read the row of the router in adapter_reach",
        ),
        Criterion(
            f"At most {MOST:.0%} as many weights are trained as the model has.",
            is_an_adapter,
            why="an adapter is cheap to train, to keep and to send",
            next="which setting trains whole weights, and which decides how large an adapter is?",
        ),
        Criterion(
            f"Merged, saved and loaded, at least {AT_LEAST:.0%} of held-out sums are right on "
            "three seeds.",
            is_learned_and_served,
            why="the job as reported is right on a few percent",
            next="is the adapter large enough, and how large is lora_alpha / r?",
        ),
    ),
    answer={
        "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj"],
        "target_parameters": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"],
    },
    run=_Tried,
    time_limit_s=240.0,
)
