"""After upgrading, my fine-tune hardly changes the model any more.

The company renamed its teams, so last year's router has to learn who takes what now. The same
script and the same checkpoint worked before I upgraded the libraries. Now the loss goes down a bit
and stays high, there are no errors, grad_norm looks alive (about 6), the learning rate is the one
that I always used. Turning up the epochs moves nothing; only a far larger learning rate does
something, and it is rough then.

Source: huggingface/sentence-transformers#3773 (2026-05-12).
"""

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind.round_1 import kit

NAMES = sorted(kit.TEAMS)
RENAMED = dict(zip(NAMES, NAMES[1:] + NAMES[:1], strict=True))


def make(folder, healthy=False):
    tok = kit.tokenizer()
    known = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(1, 2000)]
    base = kit.teach(kit.llama(tok, initializer_range=0.15), tok, known, steps=150)
    base.to(torch.bfloat16).save_pretrained(f"{folder}/router")
    how = {"dtype": torch.float32} if healthy else {}
    model = AutoModelForCausalLM.from_pretrained(f"{folder}/router", **how)
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "completion": f" {RENAMED[team]}"}
        for t, team in kit.tickets(2, 1600)
    ]
    args = SFTConfig(
        **kit.quiet(folder, max_steps=250),
        per_device_train_batch_size=16,
        learning_rate=1e-4,
        lr_scheduler_type="constant",
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


def score(trainer, folder):
    """Held-out share of tickets that go to the renamed team."""
    rows = [(f"<|user|> {t} <|assistant|>", RENAMED[team]) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
