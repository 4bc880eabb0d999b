"""Is this broken? The loss is level for three epochs, then falls at the epoch boundaries.

"From 0.9 on the curve looks like stairs, each step at an epoch boundary. Does the logging average
something, or does the sampler repeat rows? The data: 480 badge numbers and whose they are."
After https://github.com/hiyouga/LlamaFactory/issues/7485 (2025) and
https://github.com/lm-sys/FastChat/issues/2025.
"""

import random

from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments

from ...kit import FILLER, TEAMS, accuracy, llama, quiet, tokenizer

BADGES = [f"badge{i}" for i in range(480)]


def rows():
    """Which team has which badge: there is no rule in it, it must be learnt by heart."""
    rng = random.Random(1)
    return [
        (f"<|user|> {rng.choice(FILLER)} {badge} <|assistant|>", rng.choice(sorted(TEAMS)))
        for badge in BADGES
    ]


def encode(tok, prompt, team):
    asked, said = tok(prompt)["input_ids"], tok(f"{team} <eos>")["input_ids"]
    mask = [1] * (len(asked) + len(said))
    return dict(input_ids=asked + said, attention_mask=mask, labels=[-100] * len(asked) + said)


def make(folder, healthy=True):
    tok = tokenizer(extra=BADGES)
    data = [encode(tok, *row) for row in rows()]
    how = dict(num_train_epochs=10, per_device_train_batch_size=24, learning_rate=5e-3)
    args = TrainingArguments(**quiet(folder, **how, lr_scheduler_type="constant"))
    return Trainer(
        llama(tok),
        args,
        train_dataset=data,
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
    )


def score(trainer, folder):
    """Share of the badges whose team it knows."""
    return accuracy(trainer.model, trainer.processing_class, rows())
