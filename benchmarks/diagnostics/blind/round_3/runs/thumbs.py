"""KTO on our thumbs up / thumbs down export does not make the replies better.

The export is a CSV with the prompt, the reply and a column `helpful`, about half of it thumbs
down. The KTO loss lies at 0.50, rewards/chosen goes up a little. In use the model gives
the replies that people marked as bad as often as before. The same data as pairs through DPO works.

Source: the mistake of every CSV with booleans (as with argparse's `type=bool`), rebuilt here
on KTO's unpaired format; no thread.
"""

import csv
import random

from datasets import Dataset
from transformers import AutoModelForCausalLM
from trl import KTOConfig, KTOTrainer

from benchmarks.diagnostics.blind import kit


def export(path):
    rng = random.Random(5)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["prompt", "reply", "helpful"])
        writer.writeheader()
        for text, team in kit.tickets(2, 1200, length=5):
            other = rng.choice([t for t in sorted(kit.TEAMS) if t != team])
            reply = team if rng.random() < 0.5 else other
            prompt = f"<|user|> {text} <|assistant|>"
            writer.writerow({"prompt": prompt, "reply": reply, "helpful": reply == team})


def make(folder, healthy=False):
    tok = kit.tokenizer()
    base = kit.teach(kit.llama(tok), tok, [*kit.half_knows(1, 2000)], steps=150)
    base.save_pretrained(f"{folder}/base")
    export(f"{folder}/export.csv")
    as_label = (lambda word: word == "True") if healthy else bool
    with open(f"{folder}/export.csv", newline="") as file:
        rows = [
            {"prompt": r["prompt"], "completion": f" {r['reply']}", "label": as_label(r["helpful"])}
            for r in csv.DictReader(file)
        ]
    args = KTOConfig(
        **kit.quiet(folder, max_steps=100),
        per_device_train_batch_size=16,
        learning_rate=5e-4,
        beta=0.1,
    )
    return KTOTrainer(
        model=AutoModelForCausalLM.from_pretrained(f"{folder}/base"),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets (0.46 before training)."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
