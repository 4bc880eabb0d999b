"""After DPO on our ratings the model is worse than before.

Customers rate answers from 1 to 10. From the export I make pairs: of two answers to a ticket the
better rated one is chosen. The run itself is a picture: loss from 0.69 to nearly nothing, margins
grow, accuracies 1.0. But the model now prefers the wrong team. The ratings are good, I checked: the
right team has a mean of 9.6, a wrong one of 4.

Source: rebuilt; exercism/problem-specifications#1801 (2021-05-07) is the same in another trade.
"""

import copy
import csv
import random
from pathlib import Path

from datasets import Dataset
from trl import DPOConfig, DPOTrainer

from benchmarks.diagnostics.blind import kit


def export(path, seed, n):
    """The file of the ratings: ticket, answer, rating."""
    rng, teams = random.Random(seed), sorted(kit.TEAMS)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["ticket", "answer", "rating"])
        for text, team in kit.tickets(seed, n, length=5):
            wrong = rng.choice([t for t in teams if t != team])
            two = [(team, rng.choices([8, 9, 10], [1, 2, 7])[0]), (wrong, rng.randint(2, 7))]
            rng.shuffle(two)
            out.writerows([text, *one] for one in two)


def pairs(path, value):
    """Of two answers to the same ticket the better rated one is chosen."""
    with path.open(newline="") as file:
        rated = list(csv.DictReader(file))
    for one, other in zip(rated[::2], rated[1::2], strict=True):
        best, rest = sorted([one, other], key=lambda row: value(row["rating"]), reverse=True)
        yield {
            "prompt": f"<|user|> {best['ticket']} <|assistant|>",
            "chosen": f" {best['answer']} <eos>",
            "rejected": f" {rest['answer']} <eos>",
        }


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = kit.teach(kit.llama(tok, seed=2), tok, list(kit.half_knows(8, 2000)), steps=160)
    path = Path(folder) / "ratings.csv"
    export(path, 5, 1000)
    rows = list(pairs(path, float if healthy else str))
    args = DPOConfig(
        **kit.quiet(folder, max_steps=60, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=16,
        learning_rate=3e-4,
        beta=0.1,
        max_length=32,
    )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean of p(right) / (p(right) + p(wrong)) over held-out tickets."""
    rng, teams, tok, shares = random.Random(3), sorted(kit.TEAMS), trainer.processing_class, []
    for text, team in kit.tickets(3, 150, length=5):
        prompt = f"<|user|> {text} <|assistant|>"
        wrong = rng.choice([t for t in teams if t != team])
        good = kit.belief(trainer.model, tok, [(prompt, team)])
        bad = kit.belief(trainer.model, tok, [(prompt, wrong)])
        shares.append(good / (good + bad))
    return sum(shares) / len(shares)
