"""Less than four percent of the weights move, with a rate of 0.02. Is that a training at all?

I train biases, the two numbers of each layer norm and the classifier, everything else of the
(random!) encoder is frozen. The rate that works is a hundred times what people use. Trainable
parameters are a few thousand. The loss starts slowly and then falls. Did I freeze too much?

Source: rebuilt, no thread.
"""

import torch
from datasets import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind import kit

TEAMS = sorted(kit.TEAMS)


def rows(tok, seed, n):
    found = kit.tickets(seed, n)
    ids = tok([t for t, _ in found])["input_ids"]
    return Dataset.from_dict({"input_ids": ids, "labels": [TEAMS.index(t) for _, t in found]})


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(81)
    config = BertConfig(
        vocab_size=len(tok),
        hidden_size=96,
        intermediate_size=192,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        num_labels=len(TEAMS),
        pad_token_id=1,
        initializer_range=0.1,
    )
    model = BertForSequenceClassification(config)
    for name, weight in model.named_parameters():
        weight.requires_grad = "bias" in name or "LayerNorm" in name or "classifier" in name
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=300),
        per_device_train_batch_size=32,
        learning_rate=2e-2,
        warmup_steps=20,
        eval_strategy="steps",
        eval_steps=60,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=rows(tok, 2, 3000),
        eval_dataset=rows(tok, 4, 200),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy."""
    test = rows(trainer.processing_class, 3, 300)
    heard = trainer.model.eval()(input_ids=torch.tensor(test["input_ids"])).logits.argmax(-1)
    return float((heard == torch.tensor(test["labels"])).float().mean())
