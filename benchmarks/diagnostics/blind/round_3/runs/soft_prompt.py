"""A learning rate of 0.3, and almost nothing is trained. This must be wrong?

Prompt tuning: twenty virtual tokens in front of a frozen model that already files tickets, so that
it uses the new names of the teams. About 1 % of the parameters is trained. The rate is the one of
the example that I follow, a thousand times that of my other runs.

Source: the learning rate of 0.3 in the prompt tuning paper (Lester et al., 2021) and in PEFT's
examples (3e-2 and more); rebuilt here.
"""

import torch
from datasets import Dataset
from peft import PromptTuningConfig, get_peft_model
from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit

NAMES = sorted(kit.TEAMS)
OTHER = dict(zip(NAMES, NAMES[1:] + NAMES[:1], strict=True))


def make(folder, healthy=True):
    tok = kit.tokenizer()
    known = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(1, 2000)]
    known += [
        (f"<|system|> <|user|> {t} <|assistant|>", f"{OTHER[team]} <eos>")
        for t, team in kit.tickets(4, 2000)
    ]
    model = kit.teach(kit.llama(tok, seed=41), tok, known, steps=300)
    torch.manual_seed(41)
    prompt = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=20)
    model = get_peft_model(model, prompt)
    rows = []
    for text, team in kit.tickets(2, 2400):
        ids = tok(f"<|user|> {text} <|assistant|> {OTHER[team]} <eos>")["input_ids"]
        rows.append({"input_ids": ids, "labels": [-100] * (len(ids) - 2) + ids[-2:]})
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=200), per_device_train_batch_size=16, learning_rate=0.3
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets that get the new name (0 before training)."""
    rows = [(f"<|user|> {t} <|assistant|>", OTHER[team]) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
