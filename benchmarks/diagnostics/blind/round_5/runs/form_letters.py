"""eval_loss is near zero and not one generated letter is right.

A small T5 that writes our form letters: from the ticket to the full letter, whose last words
name the team. Evaluation runs with predict_with_generate and compares the letters. The
evaluation loss falls to nearly 0, the exact match stays at 0 for the whole run, whatever I do.
When I look at the letters they begin well.

Source: huggingface/transformers#10032 (2021-02-05), huggingface/transformers#22323
(2023-03-26), VegB/iNLG#2 (2023-01-03).
"""

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

LETTER = (
    "hello thanks for the mail we need a call with the team about it after monday morning please "
    "call again soon and the second question about the order : {team} <eos>"
)


def rows(tok, seed, n):
    found = kit.tickets(seed, n)
    letters = [LETTER.format(team=team) for _, team in found]
    return Dataset.from_dict(
        {
            "input_ids": tok([t for t, _ in found])["input_ids"],
            "labels": tok(letters)["input_ids"],
        }
    )


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=[":"])
    torch.manual_seed(6)
    ids = dict(pad_token_id=tok.pad_token_id, eos_token_id=tok.eos_token_id)
    config = T5Config(
        vocab_size=len(tok),
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=tok.pad_token_id,
        **ids,
    )
    model = T5ForConditionalGeneration(config)

    def exact(found):
        said, truth = found
        truth = [[t for t in row if t > -1] for row in truth.tolist()]
        said = [[t for t in row if t > -1] for row in said.tolist()]
        right = sum(s[1 : 1 + len(t)] == t for s, t in zip(said, truth, strict=True))
        return {"exact_match": right / len(truth)}

    args = Seq2SeqTrainingArguments(
        **kit.quiet(folder, max_steps=240),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        learning_rate=5e-3,
        warmup_steps=20,
        eval_strategy="steps",
        eval_steps=80,
        predict_with_generate=True,
        generation_max_length=48 if healthy else None,
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=rows(tok, 2, 2000),
        eval_dataset=rows(tok, 4, 64),
        data_collator=DataCollatorForSeq2Seq(tok, model=model),
        processing_class=tok,
        compute_metrics=exact,
    )


def score(trainer, folder):
    """Held-out share of letters that are right as a whole."""
    return trainer.predict(rows(trainer.processing_class, 3, 100)).metrics["test_exact_match"]
