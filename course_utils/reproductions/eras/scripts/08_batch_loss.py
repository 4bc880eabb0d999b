"""One step of Trainer on sixteen rows, at once and one by one, with transformers 4.45.2."""

import json
import random
import sys

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

MODEL, OUTPUT = sys.argv[1:3]
TOKENIZER = AutoTokenizer.from_pretrained(MODEL)


def row(question, answer):
    ask = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
    asked = TOKENIZER(ask)["input_ids"]
    said = TOKENIZER(f"{answer}<|im_end|>")["input_ids"]
    return {"input_ids": asked + said, "labels": [-100] * len(asked) + said}


def mixed_rows():
    """Four rows count on, twelve have a short answer."""
    draw, rows = random.Random(0), []
    for _ in range(4):
        length, start = draw.randint(10, 25), draw.randint(0, 900)
        rows.append(row(f"{start} {length}", " ".join(str(start + n) for n in range(length))))
    for _ in range(12):
        pair = draw.sample(range(10, 100), 2)
        rows.append(row(f"{pair[0]}?{pair[1]}=", str(max(pair))))
    draw.shuffle(rows)
    return rows


def collate(rows):
    ids = [torch.tensor(row["input_ids"]) for row in rows]
    labels = [torch.tensor(row["labels"]) for row in rows]
    return {
        "input_ids": pad_sequence(ids, batch_first=True, padding_value=0),
        "attention_mask": pad_sequence([torch.ones_like(i) for i in ids], batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=-100),
    }


class KeepGradient(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **more):
        grads = [p.grad.double().flatten() for p in model.parameters() if p.grad is not None]
        self.gradient = torch.cat(grads)


class InOrder(Trainer):
    def _get_train_sampler(self, *args, **more):
        return torch.utils.data.SequentialSampler(self.train_dataset)


class OwnMean(InOrder):
    def compute_loss(self, model, inputs, return_outputs=False, **more):
        out = model(**inputs)
        return (out.loss, out) if return_outputs else out.loss


def first_step(cls, size, **settings):
    set_seed(0)
    keep = KeepGradient()
    training_args = TrainingArguments(
        output_dir=OUTPUT,
        per_device_train_batch_size=size,
        gradient_accumulation_steps=16 // size,
        max_steps=1,
        max_grad_norm=0.0,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        remove_unused_columns=False,
        **settings,
    )
    trainer = cls(
        model=AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.float32),
        args=training_args,
        train_dataset=mixed_rows(),
        data_collator=collate,
        callbacks=[keep],
    )
    trainer.train()
    return keep.gradient, trainer.state.log_history[0]["loss"]


def compare(cls, **settings):
    (one, logged), (whole, right) = (first_step(cls, size, **settings) for size in (1, 16))
    cosine = torch.nn.functional.cosine_similarity(one, whole, dim=0).item()
    ratio = (one.norm() / whole.norm()).item()
    return {"cosine": cosine, "ratio": ratio, "logged": logged, "right": right}


facts = {
    "as it is": compare(InOrder),
    "label smoothing": compare(InOrder, label_smoothing_factor=0.1),
    "a loss of one's own": compare(OwnMean),
}
print(json.dumps(facts))
