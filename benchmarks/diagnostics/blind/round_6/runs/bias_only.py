"""A few percent of the weights move, with a rate of 0.02. Is that a training at all?

The encoder has learnt before to say which of our key words is in a ticket. For the new task (which
desk) I train biases, the two numbers of each layer norm and a fresh classifier, and everything else
is frozen. The rate that works best is a hundred times what people use for encoders. Most of the
tensors never get a gradient. Accuracy is fine, but can such a run be sound?

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
WORDS = [word for team in TEAMS for word in kit.TEAMS[team]]


def rows(tok, seed, n):
    found = kit.tickets(seed, n)
    ids = tok([t for t, _ in found])["input_ids"]
    words = [next(w for w in t.split() if w in kit.TEAMS[team]) for t, team in found]
    labels = [TEAMS.index(team) for _, team in found]
    return {"input_ids": ids, "labels": labels}, [WORDS.index(w) for w in words]


def encoder(tok):
    """An encoder that can say which key word a ticket has, with a fresh head for the desks."""
    torch.manual_seed(81)
    config = BertConfig(
        vocab_size=len(tok),
        hidden_size=96,
        intermediate_size=192,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        num_labels=len(WORDS),
        pad_token_id=1,
    )
    model = BertForSequenceClassification(config)
    data, words = rows(tok, 7, 3000)
    ids, words = torch.tensor(data["input_ids"]), torch.tensor(words)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(200):
        some = torch.randint(len(ids), (32,))
        model(input_ids=ids[some], labels=words[some]).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.classifier = torch.nn.Linear(config.hidden_size, len(TEAMS))
    model.num_labels = config.num_labels = len(TEAMS)
    return model


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = encoder(tok)
    for name, weight in model.named_parameters():
        weight.requires_grad = "bias" in name or "LayerNorm" in name or "classifier" in name
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=160),
        per_device_train_batch_size=32,
        learning_rate=2e-2,
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
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy."""
    test, _ = rows(trainer.processing_class, 3, 300)
    heard = trainer.model.eval()(input_ids=torch.tensor(test["input_ids"])).logits.argmax(-1)
    return float((heard == torch.tensor(test["labels"])).float().mean())
