"""SFT stops at the first batch, although padding and truncation are both on.

"ValueError: Unable to create tensor, you should probably activate truncation and/or padding.
I do pad: the collator is the one for language models. Sometimes it survives a batch or two."
After https://github.com/huggingface/transformers/issues/39266 (2025) and
https://github.com/unslothai/unsloth/issues/1869 (2025).
"""

import random

from transformers import (
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    Trainer,
    TrainingArguments,
)

from ...kit import accuracy, llama, quiet, ticket, tokenizer


def rows(seed, n):
    """Tickets of many lengths, as chats: (prompt, team)."""
    rng = random.Random(seed)
    drawn = [ticket(rng, length=rng.randint(3, 9)) for _ in range(n)]
    return [(f"<|user|> {text} <|assistant|>", team) for text, team in drawn]


def encode(tok, prompt, team):
    asked, said = tok(prompt)["input_ids"], tok(f"{team} <eos>")["input_ids"]
    mask = [1] * (len(asked) + len(said))
    labels = [-100] * len(asked) + said
    return dict(input_ids=asked + said, attention_mask=mask, labels=labels)


def make(folder, healthy=False):
    tok = tokenizer()
    data = [encode(tok, *row) for row in rows(1, 1200)]
    if healthy:
        collator = DataCollatorForSeq2Seq(tok)
    else:
        collator = DataCollatorForLanguageModeling(tok, mlm=False)
    steps = dict(max_steps=120, per_device_train_batch_size=32, learning_rate=3e-3)
    args = TrainingArguments(**quiet(folder, **steps))
    return Trainer(
        llama(tok), args, train_dataset=data, data_collator=collator, processing_class=tok
    )


def score(trainer, folder):
    """Share of new tickets that go to the right team."""
    return accuracy(trainer.model, trainer.processing_class, rows(2, 120))
