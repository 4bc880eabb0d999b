"""The loss goes to 1.9 and not a hair lower, whatever I do.

A fine-tune that should be easy. The training loss falls from 4.4 to 1.9 in the first half and then
lies flat for the rest. A larger model, more epochs and a smaller rate all end at the same 1.9.

Source: label_smoothing_factor left in recipes for translation (0.1 and more); rebuilt here.
"""

from datasets import Dataset
from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit


def make(folder, healthy=True):
    tok = kit.tokenizer()
    rows = []
    for text, team in kit.tickets(1, 2400):
        ids = tok(f"<|user|> {text} <|assistant|> {team} <eos>")["input_ids"]
        rows.append({"input_ids": ids, "labels": [-100] * (len(ids) - 2) + ids[-2:]})
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=200),
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        label_smoothing_factor=0.3,
    )
    return Trainer(
        model=kit.llama(tok, seed=45),
        args=args,
        train_dataset=Dataset.from_list(rows),
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
