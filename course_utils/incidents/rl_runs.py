"""The tiny RL runs that incidents vary: TRL's GRPOTrainer and verl's loop, both on sums.

What is the same everywhere stands here: the policy of the zoo, the settings, the facts that are
asked for afterwards. It judges nothing.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from course_utils import training, zoo
from course_utils.incidents.declare import Run
from course_utils.reproductions.verl_grpo import VerlGrpo

NUM_PROMPTS, NUM_JUDGED = 256, 64
SAMPLED_AT_START = 0.46  # what `sampled_truth` gives for the zoo's policy
# Four sums of eight replies a step; three digits and the end fit into five tokens.
TRL_SETTINGS = dict(
    learning_rate=1e-4,
    lr_scheduler_type="constant",
    per_device_train_batch_size=32,
    num_generations=8,
    max_completion_length=5,
    logging_steps=1,
    bf16=False,
    use_cpu=True,
    activation_checkpointing=False,
)
VERL_SETTINGS = dict(device="cpu", logits_dtype="float32", response_length=5)


def nothing(_trained: object) -> dict[str, float]:
    """No more facts."""
    return {}


def zoo_policy(dtype: str = "float32") -> nn.Module:
    """The tiny Qwen2."""
    return zoo.load_policy("tiny", device="cpu", dtype=dtype)


def grpo(
    seed: int,
    rewards: Callable | list[Callable],
    *,
    steps: int,
    make_model: Callable[[], nn.Module] = zoo_policy,
    trainer_class: Callable | None = None,
    prompts: object | None = None,
    level: str = "hard",
    facts: Callable[[nn.Module], dict[str, float]] = nothing,
    **settings: object,
) -> Run:
    """A GRPOTrainer that has not started.

    Args:
        rewards: TRL's `reward_funcs`.
        make_model: builds the policy, after the seed is set.
        trainer_class: what builds the trainer instead of TRL's class.
        prompts: a data set; None takes sums of `level`.
        facts: more facts than `facts_of`, of the trained model.
        settings: fields of GRPOConfig, and arguments of the trainer that it does not have.
    """
    from transformers import set_seed  # takes seconds, as TRL does
    from trl import GRPOConfig, GRPOTrainer

    set_seed(seed)
    arguments = {k: v for k, v in settings.items() if not hasattr(GRPOConfig, k)}
    config = {k: v for k, v in settings.items() if k not in arguments}
    trainer = (trainer_class or GRPOTrainer)(
        model=make_model(),
        args=GRPOConfig(
            **training.quiet_config(), **TRL_SETTINGS | config, seed=seed, max_steps=steps
        ),
        reward_funcs=rewards,
        train_dataset=zoo.arithmetic.prompts(NUM_PROMPTS, seed, level=level)
        if prompts is None
        else prompts,
        processing_class=zoo.load_tokenizer("tiny"),
        **arguments,
    )
    run = Run(model=trainer.model, start=lambda: None, trainer=trainer)

    def start() -> None:
        trainer.train()
        run.log.extend(trainer.state.log_history)

    run.start = start
    judged = facts_of(run.model)
    run.facts = lambda: judged() | facts(run.model)
    return run


def verl(
    seed: int,
    *,
    steps: int,
    loop_class: type[VerlGrpo] = VerlGrpo,
    facts: Callable[[VerlGrpo], dict[str, float]] = nothing,
    **settings: object,
) -> Run:
    """A loop in verl's manner that has not started; its log has one entry a rollout.

    Args:
        facts: more facts than `facts_of`, of the loop.
        settings: fields of `verl_grpo.Settings`.
    """
    loop = loop_class(**VERL_SETTINGS | settings, seed=seed)
    run = Run(model=loop.actor, start=lambda: None)
    run.parts |= {"optimizer": loop.optimizer, "tokenizer": loop.tokenizer}

    def start() -> None:
        loop.train(steps)
        run.log.extend(verl_log(loop))

    run.start = start
    judged = facts_of(loop.actor)
    run.facts = lambda: judged() | facts(loop)
    return run


def verl_log(loop: VerlGrpo) -> list[dict]:
    """One entry a rollout: what is known of its replies, and the mean of its updates' metrics."""
    entries = []
    for step in loop.steps:
        updates = [update for update in loop.updates if update["step"] == step["step"]]
        names = [name for name in updates[0] if name.startswith("actor/")] if updates else []
        means = {name: sum(u[name] for u in updates) / len(updates) for name in names}
        known = {key: step[key] for key in step if key == "step" or "/" in key}
        entries.append(known | {"actor/lr": loop.settings.learning_rate} | means)
    return entries


def facts_of(model: nn.Module) -> Callable[[], dict[str, float]]:
    """Ask later what became of a model: share of held-out sums right, share of weights moved."""
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}

    def facts() -> dict[str, float]:
        return {"truth": truth_of(model), "moved": share_moved(model, before)}

    return facts


def truth_of(model: nn.Module) -> float:
    """Share of held-out hard sums that the policy gets right, answering greedily."""
    sums = zoo.arithmetic.prompts(NUM_JUDGED, 0, level="hard", split="test")
    return zoo.share_right(model, zoo.load_tokenizer("tiny"), sums)


def sampled_truth(model: nn.Module) -> float:
    """Share of held-out hard sums right when sampled at temperature 1, always the same noise.

    The zoo's policy stays silent at two in five of them; what GRPO teaches first is to speak.
    """
    loop = VerlGrpo(**VERL_SETTINGS)
    return loop.evaluate(model)


def learned(run: Run) -> bool:
    """Whether the policy samples more right sums than the zoo's, and lost none of its greed."""
    return sampled_truth(run.model) > SAMPLED_AT_START + 0.05 and run.facts()["truth"] > 0.6


def share_moved(model: nn.Module, before: dict[str, Tensor]) -> float:
    """Share of the weights that are not what they were."""
    moved = [weight != before[name] for name, weight in model.named_parameters()]
    return sum(m.sum().item() for m in moved) / sum(m.numel() for m in moved)


def values(run: Run, field: str) -> list[float]:
    """What the log says under this name, in order."""
    return [entry[field] for entry in run.log if field in entry]


def mean(numbers: Iterable[float]) -> float:
    """The mean, in double precision; nan of nothing."""
    return torch.tensor(list(numbers), dtype=torch.float64).mean().item()


def said(completions: list[list[dict[str, str]]]) -> list[str]:
    """The replies as text, from what TRL gives to a reward function."""
    return [completion[-1]["content"].strip() for completion in completions]


def truth(completions, answer, **_columns) -> list[float]:
    """Right or not, for a log; with a weight of 0 it trains nothing."""
    return zoo.arithmetic.correct_sum(completions, answer)


class PaidForSilence(VerlGrpo):
    """verl's loop with a reward that pulls the policy away from its reference: short replies."""

    def __init__(self, **changes: object) -> None:
        super().__init__(num_prompts=4, **changes)

    def rollout(self):
        batch = super().rollout()
        batch.scores = -batch.response_mask.sum(1).float()
        return batch


@torch.no_grad()
def kl_to_reference(loop: VerlGrpo) -> dict[str, float]:
    """KL of the policy to the reference at the first token of a reply, mean over sums, in nats."""
    sums = zoo.arithmetic.prompts(NUM_JUDGED, 0, level="hard", split="test")
    asked = loop.tokenizer.apply_chat_template(
        list(sums["prompt"]), add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    p, q = (m(**asked).logits[:, -1].log_softmax(-1) for m in (loop.actor, loop.reference))
    return {"kl": (p.exp() * (p - q)).sum(-1).mean().item()}
