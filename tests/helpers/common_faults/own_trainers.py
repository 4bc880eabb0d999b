"""Faults of Trainers with a part of one's own, each with its healthy twin: a stream, a sampler, a
schedule, a loss of several terms, a pooling, a reward."""

import torch
from datasets import Dataset
from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.models_of import bert_model, with_new_head
from ordinary.online import SHARED, asked, said
from ordinary.settings import as_class, reviewer
from ordinary.usual import shared
from torch import nn
from torch.utils.data import SequentialSampler
from transformers import (
    BertForSequenceClassification,
    Trainer,
    get_linear_schedule_with_warmup,
)
from trl import GRPOConfig, GRPOTrainer

from common_faults.loops import Setting
from common_faults.own_losses import taught as taught_model
from common_faults.registry import fault
from common_faults.rows import reviewed
from common_faults.settings import with_optimizer

# --- The order of the rows


def by_label(rows):
    labels = rows["label"]
    return rows.select(sorted(range(len(rows)), key=lambda i: labels[i]))


@fault("stream_in_order", "rows_in_order", needs_run=True, has_twin=True)
def stream_in_order(folder, healthy=False):
    """A Trainer does not shuffle a stream."""
    trainer = reviewer(folder)
    rows = by_label(trainer.train_dataset)
    stream = rows.to_iterable_dataset()
    trainer.train_dataset = stream.shuffle(seed=1, buffer_size=400) if healthy else stream
    return trainer


class InOrder(Trainer):
    """A sampler of one's own, that reads the rows as they stand, and a loss of one's own."""

    def _get_train_sampler(self, *args):
        return SequentialSampler(self.train_dataset)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = nn.functional.cross_entropy(outputs.logits, labels)
        return (loss, outputs) if return_outputs else loss


@fault("sampler_in_order", "rows_in_order", needs_run=True, has_twin=True)
def sampler_in_order(folder, healthy=False):
    trainer = as_class(InOrder, reviewer(folder))
    if not healthy:
        trainer.train_dataset = by_label(trainer.train_dataset)
    return trainer


# --- The schedule


@fault("schedule_of_another_run", "schedule_ends_early schedule_too_slow", has_twin=True)
def schedule_of_another_run(folder, healthy=False):
    """An optimizer and a schedule of one's own; the warm-up is that of a run of 100,000 steps."""
    trainer = reviewer(folder)
    optimizer = torch.optim.AdamW(trainer.model.parameters(), lr=2e-3)
    steps = (2, 24) if healthy else (3000, 100_000)
    schedule = get_linear_schedule_with_warmup(optimizer, *steps)
    trainer = with_optimizer(trainer, optimizer)
    trainer.lr_scheduler = schedule
    return trainer


# --- Terms of the loss


class Distilling(Trainer):
    """Labels and a teacher, in equal parts."""

    teacher, way, weight = None, "batchmean", 0.5

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        told = {k: v for k, v in inputs.items() if k != "labels"}
        with torch.no_grad():
            theirs = self.teacher(**told).logits
        term = nn.functional.kl_div(
            outputs.logits.log_softmax(-1), theirs.softmax(-1), reduction=self.way
        )
        loss = (1 - self.weight) * outputs.loss + self.weight * term
        return (loss, outputs) if return_outputs else loss


def taught(folder, **settings):
    trainer = as_class(Distilling, reviewer(folder))
    for name, value in {"teacher": taught_model(Setting()), **settings}.items():
        setattr(trainer, name, value)
    return trainer


@fault("teacher_of_weight_zero", "term_without_gradient", has_twin=True)
def teacher_of_weight_zero(folder, healthy=False):
    return taught(folder, weight=0.5 if healthy else 0.0)


class ByWords(Distilling):
    """The same for a model of language, whose teacher speaks of each word."""


@fault("mean_over_the_words", "divergence_divided", has_twin=True)
def mean_over_the_words(folder, healthy=False):
    from common_faults.models import writer

    trainer = as_class(ByWords, writer(folder))
    trainer.teacher = type(trainer.model)(trainer.model.config).eval()
    with torch.no_grad():
        for weight in trainer.teacher.parameters():
            weight.mul_(3)
    trainer.way = "batchmean" if healthy else "mean"
    return trainer


# --- Pooling


class LastColumn(Trainer):
    """A score that is read at the last column."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels, mask = inputs.pop("labels"), inputs["attention_mask"]
        hidden = model.bert(**inputs).last_hidden_state
        ends = mask.sum(1) - 1 if self.by_mask else torch.full((len(mask),), mask.shape[1] - 1)
        logits = model.classifier(hidden[torch.arange(len(mask)), ends])
        loss = nn.functional.cross_entropy(logits, labels)
        return (loss, {"logits": logits}) if return_outputs else loss


@fault("score_at_the_last_column", "padding_pooled", needs_run=True, has_twin=True)
def score_at_the_last_column(folder, healthy=False):
    rows = [
        {**row, "text": row["text"] + " we" * (i % 5)} for i, row in enumerate(texts.reviews(400))
    ]
    trainer = as_class(LastColumn, reviewed(folder, rows))
    trainer.by_mask = healthy
    return trainer


# --- Labels


@fault("stars_from_one", "label_outside", has_twin=True)
def stars_from_one(folder, healthy=False):
    """Labels 1 and 2 for two classes."""
    model = with_new_head(BertForSequenceClassification, bert_model())
    trainer = reviewer(folder, compute_metrics=None)
    trainer.model = model
    if not healthy:
        up = lambda row: {"label": row["label"] + 1}  # noqa: E731
        trainer.train_dataset = trainer.train_dataset.map(up)
        trainer.eval_dataset = None
    return trainer


# --- Rewards: each question wants one of four words


WORDS = ("charming", "awful", "tedious", "delightful")  # of those that the policy says


def wanted(rewards, folder):
    rows = [{**row, "answer": WORDS[i % 4]} for i, row in enumerate(asked(96))]
    from ordinary.models_of import chat_model

    return GRPOTrainer(
        model=chat_model(folder),
        reward_funcs=rewards,
        args=GRPOConfig(**shared(folder, **{**SHARED, "learning_rate": 1e-4})),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok.chat(),
    )


def holds_own(completions, answer, **_):
    return [float(a in said(c)) for c, a in zip(completions, answer, strict=True)]


def holds_first(completions, answer, **_):
    return [float(answer[0] in said(c)) for c in completions]


def holds_previous(completions, answer, **_):
    return [
        float(a in said(c)) for c, a in zip(completions, answer[-8:] + answer[:-8], strict=True)
    ]


def holds_any(completions, answer, **_):
    return [float(WORDS[0] in said(c)) for c in completions]


def holds_not(completions, answer, **_):
    return [float(a not in said(c)) for c, a in zip(completions, answer, strict=True)]


OTHER = "reward_of_other_row"
for _name, _reward, _causes in (
    ("first", holds_first, OTHER),
    ("previous", holds_previous, OTHER),
    ("fixed", holds_any, OTHER),
    ("absent", holds_not, "reward_against_answer"),
):

    @fault(f"reward_by_the_{_name}_answer", _causes, needs_run=True, has_twin=True)
    def _make(folder, healthy=False, reward=_reward):
        return wanted(holds_own if healthy else reward, folder)
