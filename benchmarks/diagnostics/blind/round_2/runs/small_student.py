"""Distillation: the loss is negative from the first step on and goes further down.

"A divergence cannot be below zero, so what do I minimise? The student is right as often as the
teacher, but it is always 100 % sure, while the teacher is not."
After https://github.com/microsoft/ProDA/issues/43, https://github.com/AberHu/Knowledge-Distillation-Zoo/issues/12
and the review of https://github.com/Xilinx/brevitas/pull/1388 (2025).
"""

import torch
import torch.nn.functional as F
from transformers import Trainer, TrainingArguments

from ...kit import half_knows, llama, quiet, teach, tickets, tokenizer


def prompts(seed, n):
    return [f"<|user|> {text} <|assistant|>" for text, _ in tickets(seed, n, length=5)]


class Distiller(Trainer):
    """The student takes over what the teacher thinks of the next word."""

    teacher, logs = None, False

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        out = model(input_ids=inputs["input_ids"])
        with torch.no_grad():
            wanted = self.teacher(input_ids=inputs["input_ids"]).logits[:, -1].softmax(-1)
        last = out.logits[:, -1]
        student = last.log_softmax(-1) if self.logs else last.softmax(-1)
        loss = F.kl_div(student, wanted, reduction="batchmean")
        return (loss, out) if return_outputs else loss


def make(folder, healthy=False):
    tok = tokenizer()
    teacher = teach(llama(tok), tok, list(half_knows(1, 2000)), steps=120)
    data = [dict(input_ids=tok(prompt)["input_ids"]) for prompt in prompts(3, 1500)]
    steps = dict(max_steps=150, per_device_train_batch_size=32, learning_rate=3e-3)
    args = TrainingArguments(**quiet(folder, **steps))
    student = llama(tok, seed=1, num_hidden_layers=1)
    trainer = Distiller(student, args, train_dataset=data, processing_class=tok)
    trainer.teacher, trainer.logs = teacher, healthy
    return trainer


@torch.no_grad()
def score(trainer, folder):
    """Divergence of student from teacher on new tickets, in nats; 0 is the best."""
    ids = torch.tensor([trainer.processing_class(p)["input_ids"] for p in prompts(2, 150)])
    wanted = trainer.teacher(input_ids=ids).logits[:, -1].softmax(-1)
    student = trainer.model.eval()(input_ids=ids).logits[:, -1].log_softmax(-1)
    return F.kl_div(student, wanted, reduction="batchmean").item()
