"""Faults of what other tasks learn, each with its twin: tags, amounts, several labels, sounds."""

from functools import partial

import torch
from ordinary import audio, classification, seq2seq, tagging, texts, vision
from ordinary import tokenizers_of as tok
from ordinary.models_of import decoder
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from common_faults.loops import STEPS, Setting
from common_faults.own_loops import run
from common_faults.own_losses import Vectors, mean_of_tokens
from common_faults.registry import fault

with_twin = partial(fault, has_twin=True)
loop_with_twin = partial(with_twin, is_loop=True)


def rows_made(trainer, change, healthy):
    """The trainer with each row of its training data changed."""
    if not healthy:
        trainer.train_dataset = trainer.train_dataset.map(change)
    return trainer


def batches_made(trainer, change, healthy):
    plain = trainer.data_collator
    trainer.data_collator = lambda rows: plain(rows) if healthy else change(plain(rows))
    return trainer


@with_twin("tags_one_token_late", "tags_misplaced", is_open=True)
def tags_one_token_late(folder, healthy=False):
    late = lambda row: {"labels": [-100, *row["labels"][:-1]]}  # noqa: E731
    return rows_made(tagging.ner_bert(folder), late, healthy)


@with_twin("every_tag_is_outside", "labels_constant")
def every_tag_is_outside(folder, healthy=False):
    outside = lambda row: {"labels": [min(one, 0) for one in row["labels"]]}  # noqa: E731
    return rows_made(tagging.ner_bert(folder), outside, healthy)


@with_twin("every_topic_is_right", "labels_constant")
def every_topic_is_right(folder, healthy=False):
    right = lambda row: {"labels": [1.0 for _ in row["labels"]]}  # noqa: E731
    return rows_made(classification.multi_label_bert(folder), right, healthy)


@with_twin("one_amount_for_all", "labels_constant")
def one_amount_for_all(folder, healthy=False):
    trainer = classification.stsb_regression_bert(folder)
    return rows_made(trainer, lambda row: {"label": 2.5}, healthy)


@with_twin("summaries_cut_to_two_tokens", "end_missing")
def summaries_cut_to_two_tokens(folder, healthy=False):
    cut = lambda row: {"labels": row["labels"][:2]}  # noqa: E731
    return rows_made(seq2seq.summarization_t5(folder), cut, healthy)


@with_twin("pictures_scaled_twice", "inputs_unscaled")
def pictures_scaled_twice(folder, healthy=False):
    def again(batch):
        return {**batch, "pixel_values": (batch["pixel_values"] / 255 - 0.5) / 0.5}

    return batches_made(vision.images_vit(folder), again, healthy)


@with_twin("sounds_divided_by_a_million", "inputs_unscaled")
def sounds_divided_by_a_million(folder, healthy=False):
    def faint(batch):
        return {**batch, "input_values": batch["input_values"] / 1e6}

    return batches_made(audio.sounds_wav2vec2(folder), faint, healthy)


# --- Loops


def halves(own, targets):
    """The loss of an embedding model whose two halves of a text belong together."""

    def loss_of(step):
        at = step * 16 % 384
        words = [row["text"].split() for row in own.rows[at : at + 16]]
        parts = [[" ".join(w[i::2]) for w in words] for i in (0, 1)]
        first, second = (own.embed(part, mean_of_tokens) for part in parts)
        return nn.functional.cross_entropy(20 * first @ second.T, targets)

    return loss_of


@loop_with_twin("pairs_of_the_next_row", "pairs_misaligned")
def pairs_of_the_next_row(watching, healthy=False):
    own, targets = Vectors(), torch.arange(16)
    return run(own, watching, halves(own, targets if healthy else targets.roll(1)))


@loop_with_twin("optimizer_in_the_loop", "optimizer_made_anew")
def optimizer_in_the_loop(watching, healthy=False):
    own = Setting()
    own.model.train()
    with own.watched(watching) as seen:
        for step in range(STEPS):
            if not healthy:
                own.optimizer = torch.optim.AdamW(own.model.parameters(), lr=2e-3)
            loss = own.model(**own.batch(step)).loss
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.say(loss)
    return seen.report


@loop_with_twin("padding_under_labels", "padding_learnt")
def padding_under_labels(watching, healthy=False):
    """The labels are the ids, padding included; the first batch happens to need none."""
    torch.manual_seed(0)
    tokenizer = tok.chat()
    model = LlamaForCausalLM(decoder(LlamaConfig, tokenizer)).train()
    optimizer, log = torch.optim.AdamW(model.parameters(), lr=1e-3), []
    rows = texts.stories(150, seed=3)
    rows[:6] = rows[:1] * 6
    with watching(model, optimizer=optimizer, log=log, tokenizer=tokenizer) as seen:
        for step in range(STEPS):
            first = step * 6 % 144
            told = tokenizer(rows[first : first + 6], padding=True, return_tensors="pt")
            labels = told["input_ids"].clone()
            if healthy:
                labels[told["attention_mask"] == 0] = -100
            loss = model(**told, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.append({"loss": loss.item()})
    return seen.report
