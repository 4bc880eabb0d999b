"""Faults of loops of one's own, each with its healthy twin: terms of the loss, pooling, padding."""

import torch
from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.models_of import decoder, encoder
from torch import nn
from transformers import BertConfig, BertModel, LlamaConfig, LlamaModel

from common_faults.loops import STEPS, Setting
from common_faults.own_loops import loop_with_twin, run

# --- Terms of the loss


def taught(own, steps=24):
    """A teacher of the same rows."""
    teacher = type(own.model)(own.model.config)
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=2e-3)
    for step in range(steps):
        optimizer.zero_grad()
        teacher(**own.batch(step)).loss.backward()
        optimizer.step()
    return teacher.eval()


def distilled(watching, term, healthy):
    """Half the labels, half a teacher; `term(mine, theirs, healthy)` is the teacher's."""
    own = Setting(num_labels=2)
    teacher = taught(own)

    def loss_of(step):
        batch = own.batch(step)
        out = own.model(**batch)
        batch.pop("labels")
        with torch.no_grad():
            theirs = teacher(**batch).logits
        return 0.5 * out.loss + 0.5 * term(out.logits, theirs, healthy)

    return run(own, watching, loss_of)


def towards(mine, theirs):
    divergence = nn.functional.kl_div
    return divergence(mine.log_softmax(-1), theirs.softmax(-1), reduction="batchmean")


@loop_with_twin("teacher_meets_detached_student", "term_without_gradient")
def teacher_meets_detached_student(watching, healthy=False):
    return distilled(
        watching, lambda mine, theirs, ok: towards(mine if ok else mine.detach(), theirs), healthy
    )


@loop_with_twin("weight_of_a_term_is_zero", "term_without_gradient")
def weight_of_a_term_is_zero(watching, healthy=False):
    return distilled(
        watching, lambda mine, theirs, ok: (1.0 if ok else 0.0) * towards(mine, theirs), healthy
    )


# --- Pooling and padding


class Vectors(Setting):
    """An embedding model: two halves of one text belong together."""

    def __init__(self, side="right"):
        torch.manual_seed(0)
        self.tokenizer, self.log, self.rows = tok.bert(), [], texts.reviews(400)
        self.tokenizer.padding_side = side
        is_left = side == "left"  # rotary positions bear padding on either side
        kind, config = (LlamaModel, LlamaConfig) if is_left else (BertModel, BertConfig)
        self.model = kind((decoder if is_left else encoder)(config, self.tokenizer))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def contrast(self, pool):
        def loss_of(step):
            at = step * 16 % 384
            words = [row["text"].split() for row in self.rows[at : at + 16]]
            halves = [[" ".join(w[i :: 2 + (n % 3)]) for n, w in enumerate(words)] for i in (0, 1)]
            first, second = (self.embed(half, pool) for half in halves)
            scores = 20 * first @ second.T
            return nn.functional.cross_entropy(scores, torch.arange(len(scores)))

        return loss_of

    def embed(self, half, pool):
        told = self.tokenizer(half, padding=True, return_tensors="pt")
        hidden = self.model(**told).last_hidden_state
        return nn.functional.normalize(pool(hidden, told["attention_mask"]), dim=-1)


def mean_of_all(hidden, mask):
    return hidden.mean(1)


def mean_of_tokens(hidden, mask):
    return (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


def last_column(hidden, mask):
    return hidden[:, -1]


def last_by_count(hidden, mask):
    return hidden[torch.arange(len(hidden)), mask.sum(1) - 1]


def first_column(hidden, mask):
    return hidden[:, 0]


def pooled(watching, pool, side):
    own = Vectors(side)
    return run(own, watching, own.contrast(pool), steps=STEPS)


@loop_with_twin("mean_over_padding", "padding_pooled")
def mean_over_padding(watching, healthy=False):
    return pooled(watching, mean_of_tokens if healthy else mean_of_all, "right")


@loop_with_twin("last_column_of_right_padding", "padding_pooled")
def last_column_of_right_padding(watching, healthy=False):
    return pooled(watching, last_column, "left" if healthy else "right")


@loop_with_twin("count_of_tokens_on_left_padding", "padding_pooled")
def count_of_tokens_on_left_padding(watching, healthy=False):
    return pooled(watching, last_by_count, "right" if healthy else "left")


@loop_with_twin("first_column_of_left_padding", "padding_pooled")
def first_column_of_left_padding(watching, healthy=False):
    return pooled(watching, first_column, "right" if healthy else "left")
