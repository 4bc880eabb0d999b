"""The learning rate in the log is 0.0000005. How can this model learn?

Each layer of the encoder has its own rate: the deeper, the smaller, by a factor of ten from one
to the next, and the fresh head has the largest. That is how I was taught to fine-tune with little
data. The log has one number only for the rate, and it is tiny; somebody says that my run cannot
learn with it and that I shall raise it by a factor of a thousand.

Source: rebuilt, no thread.
"""

import torch
from datasets import Dataset
from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_6.runs.bias_only import encoder, rows

TOP, FACTOR = 5e-3, 10


def groups(model):
    """One group for each depth, from the embeddings to the head."""
    body = model.bert
    depths = [body.embeddings, *body.encoder.layer, torch.nn.ModuleList([body.pooler])]
    parts = [*depths, model.classifier]
    last = len(parts) - 1
    return [
        {"params": list(part.parameters()), "lr": TOP / FACTOR ** (last - depth)}
        for depth, part in enumerate(parts)
    ]


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = encoder(tok)
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=200),
        per_device_train_batch_size=32,
        warmup_steps=20,
        eval_strategy="steps",
        eval_steps=40,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_dict(rows(tok, 2, 3000)[0]),
        eval_dataset=Dataset.from_dict(rows(tok, 4, 200)[0]),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        optimizers=(torch.optim.AdamW(groups(model)), None),
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy."""
    test, _ = rows(trainer.processing_class, 3, 300)
    heard = trainer.model.eval()(input_ids=torch.tensor(test["input_ids"])).logits.argmax(-1)
    return float((heard == torch.tensor(test["labels"])).float().mean())
