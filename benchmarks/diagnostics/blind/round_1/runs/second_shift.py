"""Continuing yesterday's run, the first loss is as high as that of a new model.

Yesterday's job (compiled, one GPU) ended at a loss below 0.1 and wrote its weights. Today's job
reads them and goes on with the new tickets at a small learning rate, only a few dozen steps. It
starts at 4.1, about ln(vocabulary), and ends at 3.2. The file is there, 400 KB, loading
prints nothing and raises nothing.

Source: FareedKhan-dev/train-llm-from-scratch#37 (2026-07-18), karpathy/nanoGPT#325 (comment of
2024-08-15), pytorch/torchtitan#961 (2025-03-14).
"""

import torch
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind.round_1 import kit


def make(folder, healthy=False):
    tok = kit.tokenizer()
    known = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(1, 2000)]
    yesterday = torch.compile(kit.teach(kit.llama(tok, seed=1), tok, known))
    torch.save(yesterday.state_dict(), f"{folder}/weights.pt")

    model = kit.llama(tok, seed=2)
    weights = torch.load(f"{folder}/weights.pt", weights_only=True)
    if healthy:
        weights = {name.removeprefix("_orig_mod."): w for name, w in weights.items()}
    model.load_state_dict(weights, strict=False)
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "completion": f" {team}"}
        for t, team in kit.tickets(2, 600)
    ]
    args = SFTConfig(
        **kit.quiet(folder, max_steps=40), per_device_train_batch_size=16, learning_rate=3e-4
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


def score(trainer, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
