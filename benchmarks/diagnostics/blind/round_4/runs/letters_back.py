"""Evaluation says 0 while the loss says that the model has learnt it.

An encoder-decoder writes the letter that goes back to the customer: a fixed opening, then the team,
then a closing. Training and evaluation loss are close to zero, but the exact match that I compute
from the generated texts in the evaluation is 0.0 in every epoch. I decode as in the example script
and replace -100 by the padding token. When I print the predictions, they begin well.

Source: huggingface/transformers#13424 (2021-09-04), huggingface/transformers#10032 (2021-02-05),
huggingface/transformers#31635 (2024-06-26).
"""

import numpy as np
import torch
from datasets import Dataset
from transformers import (
    DataCollatorForSeq2Seq,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
)

from benchmarks.diagnostics.blind import kit

OPENING = "hello customer thanks for the mail about our work we need a second call and a new week"
CLOSING = "help team for it and we call again soon thanks"


def as_rows(tok, pairs):
    letters = [f"{OPENING} {team} {CLOSING} <eos>" for _, team in pairs]
    ids, labels = tok([t for t, _ in pairs])["input_ids"], tok(letters)["input_ids"]
    return Dataset.from_dict({"input_ids": ids, "labels": labels})


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=["work"])
    torch.manual_seed(12)
    size = dict(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, dropout_rate=0.0)
    ids = dict(pad_token_id=tok.pad_token_id, eos_token_id=tok.eos_token_id)
    start = dict(decoder_start_token_id=tok.pad_token_id)
    model = T5ForConditionalGeneration(T5Config(vocab_size=len(tok), **size, **ids, **start))

    def exact(found):
        guess, truth = (np.where(x < 0, tok.pad_token_id, x) for x in found)
        said = tok.batch_decode(guess, skip_special_tokens=True)
        meant = tok.batch_decode(truth, skip_special_tokens=True)
        return {"exact": float(np.mean([a == b for a, b in zip(said, meant, strict=True)]))}

    args = Seq2SeqTrainingArguments(
        **kit.quiet(folder, max_steps=170),
        per_device_train_batch_size=16,
        per_device_eval_batch_size=64,
        learning_rate=3e-3,
        eval_strategy="steps",
        eval_steps=85,
        predict_with_generate=True,
        generation_max_length=48 if healthy else None,
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=as_rows(tok, kit.tickets(101, 2000)),
        eval_dataset=as_rows(tok, kit.tickets(102, 64)),
        data_collator=DataCollatorForSeq2Seq(tok),
        compute_metrics=exact,
        processing_class=tok,
    )


def score(trainer, folder):
    """Exact match of the generated letters of held-out tickets, as the evaluation reports it."""
    rows = as_rows(trainer.processing_class, kit.tickets(103, 64))
    return trainer.evaluate(rows)["eval_exact"]
