"""Is a learning rate of 2.0 not madness? My linear probe trains with it.

The body of the model is frozen, only the new head (six rows) is trained, with plain SGD as in the
paper that I follow. grad_norm is 0.03 and falls, and I was told to use 2e-5 for transformers.

Source: the usual recipe of linear probes (MAE: SGD or LARS, base rate 0.1 times batch / 256).
"""

import torch
from datasets import Dataset
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind.round_1 import kit

TEAMS = sorted(kit.TEAMS)


def make(folder, healthy=True):
    tok = kit.tokenizer()
    known = [(t, f"{team} <eos>") for t, team in kit.tickets(1, 2000)]
    kit.teach(kit.llama(tok), tok, known, steps=100).save_pretrained(f"{folder}/base")
    torch.manual_seed(21)
    model = LlamaForSequenceClassification.from_pretrained(
        f"{folder}/base", num_labels=len(TEAMS), dtype=torch.float32
    )
    model.model.requires_grad_(False)
    rows = [dict(tok(text)) | {"labels": TEAMS.index(team)} for text, team in kit.tickets(2, 1500)]
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=100),
        per_device_train_batch_size=16,
        optim="sgd",
        learning_rate=2.0,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy."""
    tok, model = trainer.processing_class, trainer.model.eval()
    test = [(tok(t, return_tensors="pt")["input_ids"], team) for t, team in kit.tickets(3, 200)]
    hits = [TEAMS[int(model(input_ids=ids).logits.argmax())] == team for ids, team in test]
    return sum(hits) / len(hits)
