"""Loss of some two hundred and a gradient norm of several hundred: must I worry?

I sum the loss over the tokens of the batch instead of taking the mean, as the people do who
want each token to count the same over all batches. The loss in the log is therefore huge, the
gradient norm is far above max_grad_norm for more than half of the run, and all these steps are
clipped. Is this run sound?

Source: rebuilt, no thread (sum reduction as in allenai/open-instruct).
"""

import torch.nn.functional as F
from datasets import Dataset
from transformers import Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit


class SumTrainer(Trainer):
    """Every token counts the same, whatever batch it is in."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits[:, :-1].flatten(0, 1)
        loss = F.cross_entropy(logits, labels[:, 1:].flatten(), reduction="sum", ignore_index=-100)
        return (loss, outputs) if return_outputs else loss


def make(folder, healthy=False):
    tok = kit.tokenizer()
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "answer": f"{team} <eos>"}
        for t, team in kit.tickets(2, 2400)
    ]
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=160),
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        max_grad_norm=1.0,
        warmup_steps=10,
        remove_unused_columns=False,
    )
    return SumTrainer(
        model=kit.llama(tok, seed=12),
        args=args,
        train_dataset=Dataset.from_list(rows),
        data_collator=lambda found: kit.pairs(tok, [(r["prompt"], r["answer"]) for r in found]),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
