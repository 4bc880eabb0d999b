"""GRPO on hard sums with any reward, and how the replies changed.

The real GRPOTrainer on the shipped tiny model, in float32 on a CPU: 24 steps of 32 replies take
some four seconds. Nothing here is judged.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from datasets import Dataset
from trl import GRPOTrainer

from course_utils import zoo
from course_utils.diagnostics.truth_audit import TruthAudit
from course_utils.reproductions import tiny_grpo

NUM_STEPS = 24
NUM_HELD_OUT, HELD_OUT_SEED = 100, 7

Check = Callable[[str, str], float | None]  # a reply and its answer to a reward
Pairs = list[tuple[str, str]]


def held_out(n: int = NUM_HELD_OUT) -> Dataset:
    """Hard sums that no run trains on, columns `prompt` and `answer`."""
    return zoo.arithmetic.prompts(n, HELD_OUT_SEED, level="hard", split="test")


def texts(completions: list[list[dict[str, str]]]) -> list[str]:
    """The replies' texts, from the messages that GRPOTrainer gives a reward function."""
    return [messages[-1]["content"].strip() for messages in completions]


def reward_of(check: Check) -> Callable:
    """Turns a function of a single reply and its answer into a reward function for GRPOTrainer."""

    def reward(completions, answer, **_columns) -> list[float | None]:
        return [_number(score) for score in map(check, texts(completions), answer)]

    reward.__name__ = getattr(check, "__name__", type(check).__name__)  # an object has none
    return reward


class Book:
    """A reward function that records every reply; its weight is 0, so it trains nothing."""

    def __init__(self, is_right: Check) -> None:
        self.__name__ = "truth"
        self._is_right = is_right
        self.batches: list[Pairs] = []  # of each step: replies with their answers

    def __call__(self, completions, answer, **_columns) -> list[float]:
        self.batches.append(list(zip(texts(completions), answer, strict=True)))
        return [float(self._is_right(*pair)) for pair in self.batches[-1]]


def grpo_trainer(
    rewards: list[Callable], *, name: str = "tiny", device: str = "cpu", **settings: object
) -> GRPOTrainer:
    """GRPOTrainer on 256 hard sums, in float32; `settings` are GRPOConfig's and override these.

    Args:
        settings: what `tiny_grpo.grpo_trainer` takes; they go before those of the lesson.
    """
    model = zoo.load_policy(name, device=device)
    known = dict(max_steps=NUM_STEPS, max_completion_length=8, use_cpu=model.device.type == "cpu")
    return tiny_grpo.grpo_trainer(
        rewards, make_model=lambda: model, tokenizer=name, **known | settings
    )


def one_step(check: Check, **settings: object) -> dict[str, float | None]:
    """What GRPOTrainer logs of a single step on `check`; `settings` are those of `grpo_trainer`."""
    trainer = grpo_trainer([reward_of(check)], **{"max_steps": 1} | settings)
    trainer.train()
    return trainer.state.log_history[0]


COLUMNS = {
    "loss": "loss",
    "grad_norm": "grad_norm",
    "reward": "reward",
    "reward_std": "reward_std",
    "zero_std": "frac_reward_zero_std",
    "entropy": "entropy",
    "length": "completions/mean_length",
    "cut": "completions/clipped_ratio",
    "kl": "kl",
    "truth": "rewards/truth/mean",
}
Log = dict[str, list[float]]


@dataclass(frozen=True)
class Run:
    """One trained run: its log by columns, its replies, and its held-out truth."""

    log: Log  # of each step; `truth` is that of the sampled replies, at weight 0
    batches: list[Pairs] = field(repr=False)
    audit: TruthAudit = field(repr=False)
    trainer: GRPOTrainer = field(repr=False)

    @property
    def held_out(self) -> dict[int, float]:
        """The greedy truth on held-out sums, by step."""
        return {look.step: look.truth for look in self.audit.audits}


def columns_of(trainer: GRPOTrainer) -> Log:
    """Every column of the run's log, one number per step; the keys are those of COLUMNS."""
    entries = [entry for entry in trainer.state.log_history if "loss" in entry]
    return {
        name: [entry[key] for entry in entries]
        for name, key in COLUMNS.items()
        if all(key in entry for entry in entries)
    }


def train(
    check: Check,
    *,
    is_right: Check = zoo.arithmetic.is_right,
    seed: int = 0,
    every: int = 8,
    num_held_out: int = NUM_HELD_OUT,
    part: tuple[Check, float] | None = None,
    **settings: object,
) -> Run:
    """Train on `check` as the reward; `is_right` judges, and trains nothing.

    Args:
        part: a second part of the reward, and its weight; that of `check` is 1.
    """
    book = Book(is_right)
    parts = [(check, 1.0)] + ([part] if part else [])
    trainer = grpo_trainer(
        [*(reward_of(one) for one, _ in parts), book],
        seed=seed,
        reward_weights=[*(weight for _, weight in parts), 0.0],
        **settings,
    )
    audit = TruthAudit(held_out(num_held_out), is_right, every=every).attach(trainer)
    trainer.train()
    return Run(columns_of(trainer), book.batches, audit, trainer)


# --- runs whose outcome is wanted, and not their trainer ------------------------------------------


@dataclass(frozen=True)
class _Known:
    """A finished run: the replies and rewards of each step, and its outcome."""

    batches: list[Pairs]
    paid: list[list[float | None]]
    held_out: dict[int, float]


def held_out_truth(
    check: Check, *, is_right: Check, seed: int, num_steps: int, **settings: object
) -> dict[int, float]:
    """The held-out truth before and after training on `check`, by step.

    Settings, seed and rewards decide a run. So one that would be paid as a known run was, reply by
    reply, is that run, and is not trained again.
    """
    settings = settings | {"max_steps": num_steps}
    known = _KNOWN.setdefault((seed, is_right, tuple(sorted(settings.items()))), [])
    for run in known:
        if _paid(check, run.batches) == run.paid:
            return run.held_out
    run = train(check, is_right=is_right, seed=seed, every=num_steps, **settings)
    known.append(_Known(run.batches, _paid(check, run.batches), run.held_out))
    return run.held_out


_KNOWN: dict[tuple, list[_Known]] = {}


def _paid(check: Check, batches: list[Pairs]) -> list[list[float | None]]:
    return [[_number(check(*pair)) for pair in batch] for batch in batches]


def _number(score: float | None) -> float | None:
    return None if score is None else float(score)
