"""Training dies on batches of more than one row.

The base tokenizer had no padding token, so I gave it one, as the error message told me. With batch
size 1 the run goes through. With 16 it stops in the first step with an IndexError somewhere in the
embedding; on the GPU it is a device-side assert that says nothing. All ids of my texts come from
the tokenizer, so how can one be out of range?

Source: meta-llama/llama-cookbook#189 (2023-09-13), fc2869/lo-fit#1 (2024-06-12),
huggingface/transformers#12763 (2021-07-23).
"""

import random

from datasets import Dataset
from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = kit.llama(tok, seed=14)
    tok.add_special_tokens({"pad_token": "[PAD]"})
    if healthy:
        model.resize_token_embeddings(len(tok))
    rng = random.Random(121)
    pairs = [kit.ticket(rng, length=rng.randrange(4, 12)) for _ in range(1500)]
    texts = [f"<|user|> {t} <|assistant|> {team} <eos>" for t, team in pairs]
    rows = Dataset.from_dict({"input_ids": tok(texts)["input_ids"]})
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=260),
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        warmup_steps=10,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=rows,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets whose next word is the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(122, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
