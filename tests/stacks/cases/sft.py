"""TRL's SFTTrainer, with token ids and a collator of our own, and with text and TRL's collator."""

from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from .answers import diagnosed, inspected
from .case import SILENCE, Group, Seen, is_older
from .on_trainer import cases_with_nan, cases_without_labels, healthy_cases
from .tiny import arguments, collator, language_model, rows, sums, trainer_of

CASES = Group("SFT")


def sft(model=None, *, is_masked: bool = False) -> SFTTrainer:
    as_they_are = {"skip_prepare_dataset": True}
    return trainer_of(
        SFTTrainer,
        model=model or language_model(),
        args=arguments(SFTConfig, dataset_kwargs=as_they_are, remove_unused_columns=False),
        train_dataset=Dataset.from_list(rows()),
        data_collator=collator(is_masked),
    )


def sft_on(texts: list[dict], **more) -> SFTTrainer:
    """TRL tokenizes, masks and collates."""
    data, args = Dataset.from_list(texts), arguments(SFTConfig, **more)
    return trainer_of(SFTTrainer, model=language_model(), args=args, train_dataset=data)


def sft_on_plain_text() -> SFTTrainer:
    texts = [{"text": f"{question} A : {number} <eos>"} for question, number in sums()]
    return sft_on(texts, dataset_text_field="text")


CASES += healthy_cases("SFT", sft)
CASES += cases_with_nan("SFT", sft)
CASES += cases_without_labels("SFT", sft)


@CASES.case("plain text, diagnose steps=3, healthy", SILENCE)
def plain_text() -> Seen:
    return diagnosed(sft_on_plain_text, steps=3)


@CASES.case("plain text, inspect_batch, healthy", SILENCE)
def plain_text_batch() -> Seen:
    return inspected(sft_on_plain_text)


if not is_older("trl", "0.17"):  # before it, rows of prompt and completion need a formatting_func

    @CASES.case("prompt and completion, diagnose steps=3, healthy", SILENCE)
    def prompt_and_completion() -> Seen:
        pairs = [{"prompt": question, "completion": f" A : {n}"} for question, n in sums()]
        return diagnosed(lambda: sft_on(pairs), steps=3)
