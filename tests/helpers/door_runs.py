"""Small broken Trainers of `transformers`, each the same run for every door of `diagnose`."""

from types import SimpleNamespace

import torch
from torch import nn
from transformers import Trainer, TrainingArguments

VOCAB, WIDTH, ROWS = 16, 6, 16


class LanguageModel(nn.Module):
    """Two layers; it returns its loss, the mean over the labels of its batch."""

    def __init__(self, vocab: int = VOCAB) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, 8)
        self.head = nn.Linear(8, vocab)
        self.config = SimpleNamespace(vocab_size=vocab)

    def forward(self, input_ids, labels=None):
        logits = self.logits(input_ids)
        loss = None
        if labels is not None:
            flat = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
            loss = nn.functional.cross_entropy(*flat)
        return {"loss": loss, "logits": logits}

    def logits(self, input_ids):
        return self.head(torch.tanh(self.embed(input_ids)))


class HalfScores(LanguageModel):
    """Its scores pass through float16 and outgrow it."""

    def logits(self, input_ids):
        return (super().logits(input_ids) * 1e6).half().float()


class OneRowBehindWhere(LanguageModel):
    """The root of 0 behind torch.where: rows that begin with 0 are nan in the backward pass."""

    def logits(self, input_ids):
        hidden = self.embed(input_ids)
        size = hidden.square().sum(-1) * (input_ids[:, :1] != 0)
        root = torch.where(size > 0, size.sqrt(), torch.zeros_like(size))
        return self.head(hidden) + root[..., None]


class Huge(LanguageModel):
    """Its gradients are finite, and their norm is not."""

    def forward(self, input_ids, labels=None):
        out = super().forward(input_ids, labels)
        return out | {"loss": out["loss"] * 1e30}


class Masked(LanguageModel):
    """Choices that are not allowed stand at -inf."""

    def logits(self, input_ids):
        mask = torch.arange(VOCAB) >= VOCAB - 2
        return super().logits(input_ids).masked_fill(mask, -torch.inf)


class Scores(LanguageModel):
    """A classifier of three classes."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(8, 3)

    def forward(self, input_ids, labels=None):
        logits = self.logits(input_ids).mean(1)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def rows(seed: int = 0) -> list[dict]:
    drawn = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, VOCAB - 2, (ROWS, WIDTH), generator=drawn)
    return [{"input_ids": one, "labels": one.clone()} for one in ids]


def trainer(model: nn.Module, data: list[dict], **settings) -> Trainer:
    torch.manual_seed(0)
    known = dict(
        output_dir="/tmp/door",
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        logging_steps=1,
        max_steps=4,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        train_sampling_strategy="sequential",
        disable_tqdm=True,
        optim="sgd",
        learning_rate=1e-3,
    )
    return Trainer(model=model, args=TrainingArguments(**known | settings), train_dataset=data)


def one_micro_batch_without_labels() -> Trainer:
    data = rows()
    for at in (6, 7):  # the second micro-batch of step 2
        data[at]["labels"] = torch.full((WIDTH,), -100)
    return trainer(LanguageModel(), data)


def id_outside() -> Trainer:
    data = rows()
    data[0]["input_ids"][3] = VOCAB + 4
    return trainer(LanguageModel(), data)


def id_outside_later() -> Trainer:
    data = rows()
    data[11]["input_ids"][3] = VOCAB + 4
    return trainer(LanguageModel(), data)


def class_outside() -> Trainer:
    data = [one | {"labels": torch.tensor(n % 3)} for n, one in enumerate(rows())]
    data[1]["labels"] = torch.tensor(3)
    return trainer(Scores(), data)


def half_overflow() -> Trainer:
    return trainer(HalfScores(), rows())


def infinite_norm() -> Trainer:
    return trainer(Huge(), rows(), max_grad_norm=1.0)


def infinite_norm_unclipped() -> Trainer:
    return trainer(Huge(), rows(), max_grad_norm=0.0)


def one_row_behind_where() -> Trainer:
    data = rows()
    data[9]["input_ids"][0] = 0
    return trainer(OneRowBehindWhere(), data)


def smoothed_over_forbidden() -> Trainer:
    return trainer(Masked(), rows(), label_smoothing_factor=0.1)


def no_rows() -> Trainer:
    return trainer(LanguageModel(), [])


def healthy() -> Trainer:
    return trainer(LanguageModel(), rows(), learning_rate=5e-3)


RUNS = {
    one.__name__: one
    for one in (
        one_micro_batch_without_labels,
        id_outside,
        id_outside_later,
        class_outside,
        half_overflow,
        infinite_norm,
        infinite_norm_unclipped,
        one_row_behind_where,
        smoothed_over_forbidden,
        no_rows,
    )
}
