"""My reward model cannot get beyond three quarters, in training and in validation.

Pairs of answers, each judged by one person of a large jury; I know that about one in four of the
verdicts is against the majority. Loss 0.57 and accuracy 0.75 after a third of the run, and no
movement from then on, on either set. Longer, larger, other rates: the same. Is the model too small?

Source: rebuilt, no thread.
"""

import random

import torch
from datasets import Dataset
from transformers import LlamaForSequenceClassification
from trl import RewardConfig, RewardTrainer

from benchmarks.diagnostics.blind import kit


def judged(seed, n, sure):
    rng, teams = random.Random(seed), sorted(kit.TEAMS)
    for text, team in kit.tickets(seed, n, length=5):
        wrong = rng.choice([t for t in teams if t != team])
        best, rest = (team, wrong) if rng.random() < sure else (wrong, team)
        ask = f"<|user|> {text} <|assistant|>"
        yield {"prompt": ask, "chosen": f" {best} <eos>", "rejected": f" {rest} <eos>"}


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(23)
    model = LlamaForSequenceClassification(kit.sizes(tok, num_labels=1))
    args = RewardConfig(
        **kit.quiet(folder, max_steps=300, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=32,
        learning_rate=1e-3,
        max_length=32,
        eval_strategy="steps",
        eval_steps=60,
        disable_dropout=False,
    )
    return RewardTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(list(judged(2, 9600, 0.75))),
        eval_dataset=Dataset.from_list(list(judged(4, 200, 0.75))),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Share of new pairs in which the right team has the higher reward."""
    tok, model, right = trainer.processing_class, trainer.model.eval(), 0
    test = list(judged(3, 200, 1.0))
    for row in test:
        both = [tok(row["prompt"] + row[k])["input_ids"] for k in ("chosen", "rejected")]
        good, bad = model(input_ids=torch.tensor(both)).logits[:, 0].tolist()
        right += good > bad
    return right / len(test)
