"""Seq2seq trains, and dies in the first evaluation, in the metric.

"OverflowError out of tokenizer.batch_decode. The loss was falling nicely for the whole epoch.
Without compute_metrics it runs to the end."
After https://github.com/oliverguhr/spelling/issues/6 (2024),
https://github.com/huggingface/transformers/issues/31110 (2024) and
https://github.com/huggingface/autotrain-advanced/issues/862 (2025).
"""

import random

import numpy as np
import torch
from transformers import (
    DataCollatorForSeq2Seq,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
)

from ...kit import quiet, ticket, tokenizer


def rows(seed, n, tok):
    """A ticket, and its summary: the team, and `urgent` after it where the ticket says so."""
    rng, found = random.Random(seed), []
    for _ in range(n):
        text, team = ticket(rng, length=5)
        hurry = rng.random() < 0.5
        asked = f"{text} soon" if hurry else text
        said = f"{team} soon <eos>" if hurry else f"{team} <eos>"
        ids = tok(asked)["input_ids"]
        labels = tok(said)["input_ids"]
        found.append(dict(input_ids=ids, attention_mask=[1] * len(ids), labels=labels))
    return found


def metric(tok, healthy):
    def exact(prediction):
        said, labels = prediction.predictions, prediction.label_ids
        if healthy:
            said = np.where(said < 0, tok.pad_token_id, said)
            labels = np.where(labels < 0, tok.pad_token_id, labels)
        said = tok.batch_decode(said, skip_special_tokens=True)
        wanted = tok.batch_decode(labels, skip_special_tokens=True)
        return {"exact": float(np.mean([a == b for a, b in zip(said, wanted, strict=True)]))}

    return exact


def make(folder, healthy=False):
    tok = tokenizer()
    torch.manual_seed(0)
    sizes = dict(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, dropout_rate=0.0)
    ids = dict(pad_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    model = T5ForConditionalGeneration(T5Config(vocab_size=len(tok), **sizes, **ids))
    model.generation_config.max_length = 6
    steps = dict(max_steps=180, per_device_train_batch_size=32, learning_rate=3e-3)
    evaluate = dict(eval_strategy="steps", eval_steps=60, predict_with_generate=True)
    args = Seq2SeqTrainingArguments(
        **quiet(folder, **steps, **evaluate, per_device_eval_batch_size=32)
    )
    return Seq2SeqTrainer(
        model,
        args,
        train_dataset=rows(1, 1500, tok),
        eval_dataset=rows(2, 96, tok),
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
        compute_metrics=metric(tok, healthy),
    )


def score(trainer, folder):
    """Share of summaries that are right to the word."""
    trainer.compute_metrics = metric(trainer.processing_class, True)
    return trainer.evaluate()["eval_exact"]
