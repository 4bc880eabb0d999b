"""My fine-tuned model does not stop.

I fine-tuned a causal model, one that talks a lot by nature, so that it answers a ticket with the
name of the team and nothing else. Each row of my data ends with the end token, I checked. The loss
goes down nicely, and the first word of the answer is right. But generation then goes on with more
words until the token limit, for every prompt. What am I doing wrong?

Source: huggingface/trl#976 (2023-11-09), mlabonne/llm-course#33 (2024-01-22),
unslothai/unsloth#416 (2024-05-03), huggingface/open-r1#494 (2025-03-09).
"""

import random

import torch
from datasets import Dataset
from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit


def make(folder, healthy=False):
    tok = kit.tokenizer()
    if not healthy:
        tok.pad_token = tok.eos_token
    rng = random.Random(20)
    talk = [
        (f"<|user|> {t} <|assistant|>", " ".join([team, *rng.choices(kit.FILLER, k=6)]))
        for t, team in kit.tickets(20, 2000)
    ]
    model = kit.teach(kit.llama(tok, seed=3), tok, talk, steps=120)
    texts = [f"<|user|> {t} <|assistant|> {team} <eos>" for t, team in kit.tickets(21, 1500)]
    rows = Dataset.from_dict({"text": texts})
    rows = rows.map(lambda row: tok(row["text"]), batched=True, remove_columns=["text"])
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=100),
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        warmup_steps=10,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=rows,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out share of tickets whose greedy reply is the team's name and then the end."""
    tok, model = trainer.processing_class, trainer.model.eval()
    hits, rows = 0, kit.tickets(22, 100)
    for text, team in rows:
        ids = tok(f"<|user|> {text} <|assistant|>", return_tensors="pt")["input_ids"]
        for _ in range(6):
            best = model(input_ids=ids).logits[:, -1:].argmax(-1)
            ids = torch.cat([ids, best], 1)
            if best.item() == tok.eos_token_id:
                break
        hits += tok.convert_ids_to_tokens(ids[0].tolist())[-2:] == [team, "<eos>"]
    return hits / len(rows)
