"""The padding token is the end token.

A colleague says that my supervised run must end badly since the tokenizer of the base has no
padding token and I took the end token for it; the model would never learn to stop. Is she right?
(TRL's trainer, prompt and completion columns.)

Source: rebuilt; huggingface/trl#976 (2023-11-09) is the thread that she had in mind.
"""

import random

import torch
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind import kit


def make(folder, healthy=True):
    tok = kit.tokenizer()
    tok.pad_token = tok.eos_token
    rng = random.Random(18)
    talk = [
        (f"<|user|> {t} <|assistant|>", " ".join([team, *rng.choices(kit.FILLER, k=4)]))
        for t, team in kit.tickets(160, 2000)
    ]
    model = kit.teach(kit.llama(tok, seed=18), tok, talk, steps=90, batch=24)
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "completion": f" {team} <eos>"}
        for t, team in kit.tickets(161, 720)
    ]
    args = SFTConfig(
        **kit.quiet(folder, max_steps=45),
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        warmup_steps=10,
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out share of tickets whose greedy reply is the team's name and then the end."""
    tok, model = trainer.processing_class, trainer.model.eval()
    hits, rows = 0, kit.tickets(162, 60)
    for text, team in rows:
        ids = tok(f"<|user|> {text} <|assistant|>", return_tensors="pt")["input_ids"]
        for _ in range(6):
            best = model(input_ids=ids).logits[:, -1:].argmax(-1)
            ids = torch.cat([ids, best], 1)
            if best.item() == tok.eos_token_id:
                break
        hits += tok.convert_ids_to_tokens(ids[0].tolist())[-2:] == [team, "<eos>"]
    return hits / len(rows)
