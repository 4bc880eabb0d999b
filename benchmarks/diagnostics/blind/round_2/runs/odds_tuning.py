"""Preference tuning with an odds ratio learns well, then loss and all log-probs are nan.

"The better the model gets, the sooner it comes: with more epochs it always ends in nan. The
same data run through DPO without trouble. log_odds_chosen is inf just before."
After https://github.com/huggingface/trl/issues/1473 (2024), https://github.com/huggingface/trl/issues/3237
(2025) and https://github.com/hpcaitech/ColossalAI/pull/6407 (2026).
"""

import random

import torch
import torch.nn.functional as F
from transformers import Trainer, TrainingArguments

from ...kit import TEAMS, accuracy, llama, pairs, quiet, tickets, tokenizer


def rows(seed, n):
    rng, found = random.Random(seed), []
    for text, team in tickets(seed, n, length=5):
        wrong = rng.choice([t for t in sorted(TEAMS) if t != team])
        found.append(dict(prompt=f"<|user|> {text} <|assistant|>", chosen=team, rejected=wrong))
    return found


def mean_logps(model, batch):
    """Mean log-prob of the completion tokens of each row."""
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    logits = logits.to(torch.bfloat16)  # half the memory
    labels = batch["labels"][:, 1:]
    taken = logits[:, :-1].log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    mask = labels != -100
    return (taken * mask).sum(-1) / mask.sum(-1)


class OddsTrainer(Trainer):
    """ORPO in its own words: likelihood of the chosen, and its odds against the rejected."""

    stable = False

    def log_odds(self, logps):
        if self.stable:
            logps = logps.float()
            return logps - torch.log(-torch.expm1(logps.clamp(max=-1e-6)))
        return logps - torch.log1p(-torch.exp(logps))

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        chosen = mean_logps(model, inputs["chosen"])
        rejected = mean_logps(model, inputs["rejected"])
        ratio = F.logsigmoid(self.log_odds(chosen) - self.log_odds(rejected))
        loss = -chosen.mean() - 0.5 * ratio.mean()
        return (loss, chosen) if return_outputs else loss


def make(folder, healthy=False):
    tok = tokenizer()

    def collate(batch):
        def side(name):
            return pairs(tok, [(row["prompt"], row[name]) for row in batch])

        return dict(chosen=side("chosen"), rejected=side("rejected"))

    steps = dict(max_steps=200, per_device_train_batch_size=16, learning_rate=4e-3)
    args = TrainingArguments(**quiet(folder, **steps, remove_unused_columns=False))
    trainer = OddsTrainer(
        llama(tok), args, train_dataset=rows(1, 1500), data_collator=collate, processing_class=tok
    )
    trainer.stable = healthy
    return trainer


def score(trainer, folder):
    """Share of new tickets that go to the right team."""
    wanted = [(row["prompt"], row["chosen"]) for row in rows(2, 120)]
    return accuracy(trainer.model, trainer.processing_class, wanted)
