"""grad_norm is 480, everyone else's is 1. Am I about to blow up?

The loss is the sum over the tokens of the batch, not the mean (a choice of my supervisor), so loss
and gradients are large numbers. Gradients are clipped at 1.0 and the optimizer is AdamW.

Source: a question of the kind of hiyouga/LlamaFactory#5837 (2024-10-27, "a little abnormal grad
norm value during sft"); rebuilt here.
"""

import torch
from datasets import Dataset
from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments

from benchmarks.diagnostics.blind.round_1 import kit


class Summed(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = torch.nn.functional.cross_entropy(
            out.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), reduction="sum"
        )
        return (loss, out) if return_outputs else loss


def make(folder, healthy=True):
    tok = kit.tokenizer()
    rows = []
    for text, team in kit.tickets(1, 2400):
        ids = tok(f"<|user|> {text} <|assistant|> {team} <eos>")["input_ids"]
        rows.append({"input_ids": ids, "labels": [-100] * (len(ids) - 2) + ids[-2:]})
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=150),
        per_device_train_batch_size=64,
        learning_rate=1e-3,
        max_grad_norm=1.0,
    )
    return Summed(
        model=kit.llama(tok, seed=25, initializer_range=0.1),
        args=args,
        train_dataset=Dataset.from_list(rows),
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
