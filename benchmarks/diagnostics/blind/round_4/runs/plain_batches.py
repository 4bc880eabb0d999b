"""Loss goes down, generations are nonsense.

I continue the training of a small language model with this month's tickets. I wrote the collator
myself since I wanted to see what goes in. The training loss falls to about the same value as in my
colleague's run, but when I let the model complete a ticket it skips the team and prints the end
token at once, or words in a strange order. The tokenizer is fine, and the same rows work with the
stock collator.

Source: huggingface/transformers#44642 (2026-03-12), huggingface/transformers#32944 (2024-08),
huggingface/transformers#47394 (2026-07-18).
"""

import torch
from datasets import Dataset
from transformers import Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit


class Batches:
    """Pads rows of ids and makes the inputs and targets of a language model."""

    def __init__(self, tok, aligned):
        self.pad, self.aligned = tok.pad_token_id, aligned

    def __call__(self, rows):
        ids = [torch.tensor(row["input_ids"]) for row in rows]
        ids = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=self.pad)
        inputs, targets = (ids, ids) if self.aligned else (ids[:, :-1], ids[:, 1:])
        labels = targets.masked_fill(targets == self.pad, -100)
        mask = (inputs != self.pad).long()
        return dict(input_ids=inputs, attention_mask=mask, labels=labels)


def make(folder, healthy=False):
    tok = kit.tokenizer()
    known = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(30, 2000)]
    model = kit.teach(kit.llama(tok, seed=4), tok, known, steps=100)
    texts = [f"<|user|> {t} <|assistant|> {team} <eos>" for t, team in kit.tickets(31, 1500)]
    rows = Dataset.from_dict({"input_ids": tok(texts)["input_ids"]})
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=120),
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        lr_scheduler_type="cosine",
        warmup_steps=10,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=rows,
        data_collator=Batches(tok, aligned=healthy),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets whose next word is the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(32, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
