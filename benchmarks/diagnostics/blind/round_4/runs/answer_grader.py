"""Reward model with accuracy 1.0 that is useless.

I train a reward model on pairs that our annotators made: the chosen answer names the right team,
the rejected one a wrong team. After some thirty steps the accuracy on the training pairs and on
the validation pairs is 1.0, the margin is large. But when I use it to rank answers that the policy
wrote, it is no better than a coin, often worse: the wrong team comes first.

Source: allenai/reward-bench#267 (2026-07-17), jsboige/CoursIA#16063 (2026-09-14).
"""

import random

import torch
from datasets import Dataset
from transformers import LlamaForSequenceClassification
from trl import RewardConfig, RewardTrainer

from benchmarks.diagnostics.blind import kit

THANKS = ["thanks", "for", "the", "mail", "we", "need", "a", "call", "about", "it"]


def answer(rng, team, long):
    words = rng.sample(THANKS, rng.randrange(6, 9) if long else rng.randrange(1, 4))
    return f" {team} {' '.join(words)}"


def pairs(seed, n, alike):
    rng = random.Random(seed)
    for text, team in kit.tickets(seed, n, length=5):
        other = rng.choice([name for name in sorted(kit.TEAMS) if name != team])
        long = rng.random() < 0.5
        chosen = answer(rng, team, long if alike else True)
        rejected = answer(rng, other, long if alike else False)
        yield {"prompt": f"<|user|> {text} <|assistant|>", "chosen": chosen, "rejected": rejected}


def make(folder, healthy=False):
    tok = kit.tokenizer()
    known = [(f"<|user|> {t} <|assistant|>", f"{n} <eos>") for t, n in kit.tickets(131, 2000, 5)]
    base = kit.teach(kit.llama(tok, seed=15), tok, known, steps=60, batch=24)
    torch.manual_seed(15)
    model = LlamaForSequenceClassification(kit.sizes(tok, num_labels=1))
    model.model.load_state_dict(base.model.state_dict())
    args = RewardConfig(
        **kit.quiet(folder, max_steps=70),
        per_device_train_batch_size=8,
        learning_rate=2e-3,
        warmup_steps=10,
        eval_strategy="steps",
        eval_steps=35,
    )
    return RewardTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(list(pairs(132, 560, healthy))),
        eval_dataset=Dataset.from_list(list(pairs(133, 32, healthy))),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out share of pairs of answers of like length in which the right team scores higher."""
    tok, model = trainer.processing_class, trainer.model.eval()
    hits, rows = 0, list(pairs(134, 80, alike=True))
    for row in rows:
        both = []
        for side in ("chosen", "rejected"):
            ids = tok(f"{row['prompt']}{row[side]} <eos>", return_tensors="pt")["input_ids"]
            both.append(model(input_ids=ids).logits.item())
        hits += both[0] > both[1]
    return hits / len(rows)
