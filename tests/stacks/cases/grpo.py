"""TRL's GRPOTrainer, which draws its own completions; the reward counts digits, or is constant."""

import tempfile
from functools import partial

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from course_utils import diagnostics

from .answers import called_back, causes_of, diagnosed
from .case import Group, Seen, first, is_older, none_of
from .on_trainer import healthy_cases
from .tiny import arguments, language_model, sums, tokenizer, trainer_of

CASES = Group("GRPO")
# An untrained model never ends its completions, so `replies_cut` is true in the healthy run.
FALSE_ALARMS = (
    *("no_signal", "no_gradient", "nothing_trainable", "nan_weights"),
    *("logp_disagree", "stale_sampler", "kl_negative", "no completion was read"),
)
HEALTHY = none_of(*FALSE_ALARMS)
# TRL 0.15 draws at the temperature and scores at 1, so there the two really disagree.
COOLER = first("logp_disagree") if is_older("trl", "0.16") else HEALTHY


def num_digits(completions: list[str], **_) -> list[float]:
    return [float(sum(sign.isdigit() for sign in completion)) for completion in completions]


def constant(completions: list[str], **_) -> list[float]:
    return [1.0] * len(completions)


def grpo(model=None, *, reward=num_digits, **more) -> GRPOTrainer:
    """The model is on disk too, as GRPOTrainer loads its reference model from there."""
    folder = tempfile.mkdtemp()
    language_model().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    model = model or language_model()
    model.config._name_or_path = model.name_or_path = folder
    sizes = {"per_device_train_batch_size": 8, "num_generations": 4, "max_completion_length": 5}
    return trainer_of(
        GRPOTrainer,
        model=model,
        args=arguments(GRPOConfig, **{"beta": 0.04, "temperature": 1.0, **sizes, **more}),
        train_dataset=Dataset.from_list([{"prompt": question} for question, _ in sums()]),
        reward_funcs=reward,
    )


flat = partial(grpo, reward=constant)

CASES += healthy_cases("GRPO", grpo, HEALTHY)


def audited_policy(make) -> Seen:
    audit = diagnostics.audit_policy(make())
    seen = causes_of(audit)
    blind = [] if "share_no_signal" in audit.numbers else ["no completion was read"]
    return Seen(seen.causes + blind, seen.unseen)


@CASES.case("audit_policy, healthy", HEALTHY)
def audit_policy_healthy() -> Seen:
    return audited_policy(grpo)


@CASES.case("audit_policy, constant reward", first("no_signal"))
def audit_policy_constant() -> Seen:
    return audited_policy(flat)


@CASES.case("diagnose steps=3, constant reward", first("no_signal"))
def diagnose_steps_constant() -> Seen:
    return diagnosed(flat, steps=3)


@CASES.case("callback, constant reward", first("no_signal"))
def callback_constant() -> Seen:
    return called_back(flat)


if not is_older("trl", "0.16"):  # before it, top_k could not be set

    @CASES.case("diagnose steps=3, only the two likeliest tokens are drawn", first("logp_disagree"))
    def diagnose_top_k() -> Seen:
        return diagnosed(partial(grpo, top_k=2), steps=3)


@CASES.case("diagnose steps=3, temperature 0.9", COOLER)
def diagnose_cooler() -> Seen:
    return diagnosed(partial(grpo, temperature=0.9), steps=3)
