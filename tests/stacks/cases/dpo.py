"""TRL's DPOTrainer, with pairs that differ and with pairs that are alike."""

from functools import partial

from datasets import Dataset
from trl import DPOConfig, DPOTrainer

from .answers import diagnosed
from .case import Group, Seen, first
from .on_trainer import cases_with_nan, healthy_cases
from .tiny import arguments, language_model, sums, trainer_of

CASES = Group("DPO")


def dpo(model=None, *, is_alike: bool = False) -> DPOTrainer:
    """Pairs whose rejected answer is a wrong number, or the right one again."""
    pairs = [
        {
            "prompt": question,
            "chosen": f" A : {number}",
            "rejected": f" A : {number if is_alike else (i * 7 + 3) % 17}",
        }
        for i, (question, number) in enumerate(sums())
    ]
    return trainer_of(
        DPOTrainer,
        model=model or language_model(),
        ref_model=language_model(),
        args=arguments(DPOConfig, beta=0.1),
        train_dataset=Dataset.from_list(pairs),
    )


CASES += healthy_cases("DPO", dpo)
CASES += cases_with_nan("DPO", dpo)


@CASES.case("diagnose, pairs are alike", first("pairs_alike"))
def diagnose_alike() -> Seen:
    return diagnosed(partial(dpo, is_alike=True))


@CASES.case("diagnose steps=3, pairs are alike", first("pairs_alike"))
def diagnose_steps_alike() -> Seen:
    return diagnosed(partial(dpo, is_alike=True), steps=3)
