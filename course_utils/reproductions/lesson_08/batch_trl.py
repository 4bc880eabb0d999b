"""TRL's trainers on rows of unequal length, ready for `compare_splits`. Judges nothing.

T = reply tokens.
"""

import random
from collections.abc import Callable

import torch
from datasets import Dataset
from torch import Tensor
from transformers import set_seed
from trl import DPOConfig, DPOTrainer, GRPOTrainer

from course_utils import zoo
from course_utils.reproductions import tiny_grpo
from course_utils.reproductions.lesson_07 import never_stops
from course_utils.reproductions.lesson_08.batch_loss import Row, mixed_rows
from course_utils.zoo import training

ONE_STEP = dict(
    max_steps=1,
    per_device_train_batch_size=8,
    logging_steps=1,
    max_grad_norm=0.0,
    use_cpu=True,
    bf16=False,
    activation_checkpointing=False,
)


def sft_trainer(**settings: object):
    """SFTTrainer on the mixed rows."""
    rows = Dataset.from_list(mixed_rows())
    model, tokenizer = zoo.load_policy("tiny", device="cpu"), zoo.load_tokenizer("tiny")
    settings = {"max_length": None, "max_steps": 1} | settings
    return never_stops.sft_trainer(model, tokenizer, dataset=rows, **settings)


def _pair(draw: random.Random, *, is_long: bool) -> dict[str, list[dict[str, str]]]:
    """Counting on against counting down, or the larger of two numbers against the smaller."""
    if is_long:
        start, length = draw.randint(100, 900), draw.randint(10, 20)
        asked = f"{start} {length}"
        said = [" ".join(str(start + sign * n) for n in range(length)) for sign in (1, -1)]
    else:
        low, high = sorted(draw.sample(range(10, 100), 2))
        asked, said = f"{low}?{high}=", [str(high), str(low)]
    chosen, rejected = ([{"role": "assistant", "content": one}] for one in said)
    user = [{"role": "user", "content": asked}]
    return {"prompt": user, "chosen": chosen, "rejected": rejected}


def dpo_trainer(*loss_types: str, **settings: object) -> DPOTrainer:
    """DPOTrainer on eight pairs, two of them long, with one loss or several added up."""
    set_seed(0)
    draw = random.Random(0)
    pairs = [_pair(draw, is_long=at in (2, 5)) for at in range(8)]
    known = training.quiet_config() | ONE_STEP | {"loss_type": list(loss_types)} | settings
    return DPOTrainer(
        model=zoo.load_policy("tiny", device="cpu"),
        ref_model=zoo.load_policy("tiny", device="cpu"),
        args=DPOConfig(**known),
        processing_class=zoo.load_tokenizer("tiny"),
        train_dataset=Dataset.from_list(pairs),
    )


def grpo_trainer(loss_type: str, **settings: object) -> GRPOTrainer:
    """A GRPOTrainer of which only the loss is used."""
    known = ONE_STEP | {"loss_type": loss_type, "max_completion_length": 128, "beta": 0.0}
    return tiny_grpo.grpo_trainer(
        lambda completions, **more: [0.0 for _ in completions],
        dataset=zoo.arithmetic.prompts(8, 0).select_columns(["prompt"]),
        **known | settings,
    )


def replies(rows: list[Row]) -> dict[str, Tensor]:
    """The mixed rows as sampled replies; about half are good."""
    split = [sum(label == -100 for label in row["labels"]) for row in rows]
    asked = [row["input_ids"][:at] for row, at in zip(rows, split, strict=True)]
    said = [row["input_ids"][at:] for row, at in zip(rows, split, strict=True)]
    prompt, prompt_mask = _padded(asked, left=True)
    completion, completion_mask = _padded(said, left=False)
    sign = torch.tensor([1.0 if sum(row["input_ids"]) % 2 else -1.0 for row in rows])
    return {
        "prompt_ids": prompt,
        "prompt_mask": prompt_mask,
        "completion_ids": completion,
        "completion_mask": completion_mask,
        "advantages": sign,
    }


def _padded(rows: list[list[int]], *, left: bool) -> tuple[Tensor, Tensor]:
    width = max(map(len, rows))
    ids, mask = torch.zeros(len(rows), width, dtype=torch.long), torch.zeros(len(rows), width)
    for at, row in enumerate(rows):
        where = slice(width - len(row), width) if left else slice(0, len(row))
        ids[at, where], mask[at, where] = torch.tensor(row), 1
    return ids, mask.long()


def grpo_step(trainer: GRPOTrainer) -> Callable[[list[list[Row]]], Tensor]:
    """The backward passes of one optimizer step on given replies, by the trainer's own loss."""

    def step(micro_batches: list[list[Row]]) -> Tensor:
        trainer.model.train()
        trainer.current_gradient_accumulation_steps = len(micro_batches)
        trainer.args.steps_per_generation = len(micro_batches)
        parts = [replies(rows) for rows in micro_batches]
        whole, logged = sum(part["completion_mask"].sum() for part in parts), 0.0
        for part in parts:
            loss = trainer._compute_loss(trainer.model, part | {"num_items_in_batch": whole})
            loss.backward()
            logged += loss.detach()
        return logged

    return step


def measured_weights(loss_type: str, lengths: list[int]) -> Tensor:
    """The factor of one token of each reply in GRPOTrainer's loss, read off its gradient.

    Returns:
        Shape (replies,), float64: for an advantage of 1.
    """
    trainer, width = grpo_trainer(loss_type), max(lengths)
    leaf_T = torch.full((len(lengths), width), -1.0, requires_grad=True)
    mask = (torch.arange(width) < torch.tensor(lengths)[:, None]).long()
    none_T = torch.zeros_like(leaf_T)
    trainer._get_per_token_logps_and_entropies = lambda *args, **more: (leaf_T, none_T, None)
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = trainer.args.steps_per_generation = 1
    ids = torch.zeros_like(mask)
    given = {"prompt_ids": ids, "prompt_mask": mask, "completion_ids": ids}
    given |= {"completion_mask": mask, "advantages": torch.ones(len(lengths))}
    trainer._compute_loss(trainer.model, given | {"num_items_in_batch": mask.sum()}).backward()
    return -leaf_T.grad[:, 0].double()
