"""One optimizer step on rows of unequal length, split in any way, by the real Trainer.

Twelve rows have a short answer, four count on for some seventy tokens. Nothing here is judged.
"""

import random
from dataclasses import dataclass
from functools import cache, partial

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from course_utils import zoo
from course_utils.zoo import training

NUM_LONG, NUM_SHORT = 4, 12

Row = dict[str, list[int]]


@cache
def _tokenizer():
    return zoo.load_tokenizer("tiny")


def row(question: str, answer: str) -> Row:
    """One chat; the answer and its end are the targets."""
    ask = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
    asked, said = (_tokenizer()(text)["input_ids"] for text in (ask, f"{answer}<|im_end|>"))
    return {"input_ids": asked + said, "labels": [-100] * len(asked) + said}


def _short(draw: random.Random) -> Row:
    """The larger of two numbers."""
    first, second = draw.sample(range(10, 100), 2)
    return row(f"{first}?{second}=", str(max(first, second)))


def _long(draw: random.Random) -> Row:
    """Counting on from a number."""
    length, start = draw.randint(10, 25), draw.randint(0, 900)
    return row(f"{start} {length}", " ".join(str(start + n) for n in range(length)))


def mixed_rows(seed: int = 0, *, long: int = NUM_LONG, short: int = NUM_SHORT) -> list[Row]:
    """Rows of two kinds, shuffled."""
    draw = random.Random(seed)
    rows = [_long(draw) for _ in range(long)] + [_short(draw) for _ in range(short)]
    draw.shuffle(rows)
    return rows


def num_targets(row: Row) -> int:
    """The number of a row's tokens in the loss: nothing predicts its first token."""
    return sum(label != -100 for label in row["labels"][1:])


def collate(rows: list[Row], width: int = 0) -> dict[str, Tensor]:
    """A batch padded on the right to its longest row, or to `width` if that is more."""
    ids = [torch.tensor(row["input_ids"]) for row in rows]
    labels = [torch.tensor(row["labels"]) for row in rows]
    batch = {
        "input_ids": pad_sequence(ids, batch_first=True, padding_value=0),
        "attention_mask": pad_sequence([torch.ones_like(i) for i in ids], batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=-100),
    }
    more = max(0, width - batch["labels"].shape[1])
    fill = {"input_ids": 0, "attention_mask": 0, "labels": -100}
    return {k: torch.nn.functional.pad(v, (0, more), value=fill[k]) for k, v in batch.items()}


def token_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """A custom loss: cross-entropy plus a small penalty on large logits, for each target.

    Args:
        logits: shape (rows, tokens, vocabulary).
        labels: shape (rows, tokens), not shifted; -100 is no target.

    Returns:
        Shape (targets,), in nats.
    """
    labels = labels[:, 1:].flatten()
    logits = logits[:, :-1].flatten(0, 1)[labels != -100]
    losses = torch.nn.functional.cross_entropy(logits, labels[labels != -100], reduction="none")
    return losses + 1e-4 * logits.logsumexp(-1).square()


def trainer(
    cls: type[Trainer] = Trainer,
    rows: list[Row] | None = None,
    *,
    model=None,
    size: int = 1,
    accumulation: int = 1,
    callbacks: tuple[TrainerCallback, ...] = (),
    width: int = 0,
    compute_loss_func=None,
    **settings: object,
) -> Trainer:
    """A Trainer on the tiny model that takes the rows in order and clips nothing."""

    class InOrder(cls):
        def _get_train_sampler(self, *args, **kwargs):
            return torch.utils.data.SequentialSampler(self.train_dataset)

    InOrder.__name__ = cls.__name__
    set_seed(0)
    known = dict(
        per_device_train_batch_size=size,
        gradient_accumulation_steps=accumulation,
        max_steps=1,
        max_grad_norm=0.0,
        logging_steps=1,
        use_cpu=True,
        remove_unused_columns=False,
    )
    return InOrder(
        model=zoo.load_policy("tiny", device="cpu") if model is None else model,
        args=TrainingArguments(**training.quiet_config() | known | settings),
        train_dataset=mixed_rows() if rows is None else rows,
        data_collator=partial(collate, width=width),
        compute_loss_func=compute_loss_func,
        callbacks=list(callbacks),
    )


class KeepGradient(TrainerCallback):
    """Keeps the gradient that the first step hands to the optimizer, float64, shape (weights,)."""

    gradient: Tensor | None = None

    def on_pre_optimizer_step(self, args, state, control, model=None, **more) -> None:
        if self.gradient is None:
            grads = [p.grad.double().flatten() for p in model.parameters() if p.grad is not None]
            self.gradient = torch.cat(grads)


@dataclass(frozen=True)
class FirstStep:
    """The first optimizer step of a run."""

    gradient: Tensor
    loss: float  # as logged


def first_step(size: int, accumulation: int, cls: type[Trainer] = Trainer, **more) -> FirstStep:
    """Train one step of `accumulation` micro-batches with `size` rows each."""
    keep = KeepGradient()
    run = trainer(cls, size=size, accumulation=accumulation, callbacks=(keep,), **more)
    run.train()
    return FirstStep(keep.gradient, training.logged(run, "loss")[0])


def cosine(one: Tensor, other: Tensor) -> float:
    return float(torch.nn.functional.cosine_similarity(one, other, dim=0))


def ratio(one: Tensor, other: Tensor) -> float:
    """|one| / |other|"""
    return float(one.norm() / other.norm())


def distance(one: Tensor, other: Tensor) -> float:
    """|one - other| / |other|"""
    return float((one - other).norm() / other.norm())
