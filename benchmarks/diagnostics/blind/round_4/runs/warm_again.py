"""Loss jumps up three times in my classifier, at regular distances.

Fine-tuning a small classifier of tickets. Loss falls, then it leaps up, falls again, leaps up
again, and the gradient norm with it. The learning rate in the log goes to nearly zero and back to
the top. Is that a fault of the scheduler?

Source: rebuilt; huggingface/transformers documentation of cosine_with_restarts.
"""

import torch
from datasets import Dataset
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind import kit

NAMES = sorted(kit.TEAMS)


def as_rows(tok, pairs):
    ids = tok([t for t, _ in pairs])["input_ids"]
    return Dataset.from_dict({"input_ids": ids, "labels": [NAMES.index(n) for _, n in pairs]})


def make(folder, healthy=True):
    tok = kit.tokenizer()
    torch.manual_seed(16)
    model = LlamaForSequenceClassification(kit.sizes(tok, num_labels=len(NAMES)))
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=240),
        per_device_train_batch_size=16,
        learning_rate=4e-3,
        lr_scheduler_type="cosine_with_restarts",
        lr_scheduler_kwargs={"num_cycles": 4},
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=as_rows(tok, kit.tickets(141, 2000)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy."""
    tok, model, pairs = trainer.processing_class, trainer.model.eval(), kit.tickets(142, 200)
    batch = tok([t for t, _ in pairs], return_tensors="pt", padding=True)
    guess = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    truth = torch.tensor([NAMES.index(n) for _, n in pairs])
    return (guess.argmax(-1) == truth).float().mean().item()
