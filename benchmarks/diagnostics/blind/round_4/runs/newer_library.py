"""After the upgrade my fine-tune hardly learns.

Same script, same data, same hyperparameters: full fine-tuning of our base checkpoint with a small
learning rate so that it does not forget. With the library of last year the model was nearly always
right at the end. Since the upgrade the loss goes down a little and stops; no warning, gradients
look as before. A higher learning rate helps a bit but then other things break.

Source: huggingface/sentence-transformers#3773 (2026-05-12), huggingface/trl#4770 (2026-01-02),
pytorch/ao#1124 (2024-10-21).
"""

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, DataCollatorForSeq2Seq, Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_4 import common


def as_rows(tok, pairs):
    ids, labels = [], []
    for text, team in pairs:
        a = tok(f"<|user|> {text} <|assistant|>")["input_ids"]
        b = tok(f"{team} <eos>")["input_ids"]
        ids.append(a + b)
        labels.append([-100] * len(a) + b)
    return Dataset.from_dict({"input_ids": ids, "labels": labels})


def make(folder, healthy=False):
    tok = kit.tokenizer()
    base = common.sampler(tok, seed=91)
    base.to(torch.bfloat16).save_pretrained(f"{folder}/base")
    more = {"dtype": torch.float32} if healthy else {}
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=150),
        per_device_train_batch_size=16,
        learning_rate=3e-5,
        lr_scheduler_type="constant",
        weight_decay=0.0,
    )
    return Trainer(
        model=AutoModelForCausalLM.from_pretrained(f"{folder}/base", **more),
        args=args,
        train_dataset=as_rows(tok, kit.tickets(92, 2000, length=5)),
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(93, 100, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
