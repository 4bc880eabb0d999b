"""The student learns nothing from the teacher.

The labels that the crowd gave are right in less than half of the tickets, but I have a good
teacher. So I distil: half cross-entropy on the crowd's labels, half KL to the teacher at
temperature 2 (times T squared). The student ends exactly where a student without a teacher
ends, as unsure as the crowd. Turning alpha between 0.3 and 0.7 makes next to no difference.

Source: yuanli2333/Teacher-free-Knowledge-Distillation#41 (2025-01-17), HikariTJU/LD#74
(2023-10-07), haitongli/knowledge-distillation-pytorch#48 (2022-09-26).
"""

import torch
import torch.nn.functional as F
from datasets import Dataset
from transformers import Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit

T, ALPHA = 2.0, 0.5


class Distil(Trainer):
    """Cross-entropy on the labels and KL to the teacher, in equal parts."""

    teacher = None
    reduction = "mean"

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        with torch.no_grad():
            told = self.teacher(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
            ).logits
        answered = inputs["labels"][:, 1:] != -100
        mine = outputs.logits[:, :-1][answered] / T
        theirs = told[:, :-1][answered] / T
        kl = F.kl_div(
            F.log_softmax(mine, dim=-1), F.softmax(theirs, dim=-1), reduction=self.reduction
        )
        loss = ALPHA * outputs.loss + (1 - ALPHA) * T * T * kl
        return (loss, outputs) if return_outputs else loss


def make(folder, healthy=False):
    tok = kit.tokenizer()
    sure = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(1, 2000, 5)]
    teacher = kit.teach(kit.llama(tok, seed=1), tok, sure, steps=150)
    student = kit.llama(tok, seed=9, hidden_size=32, intermediate_size=64)
    crowd = list(kit.half_knows(2, 2000))
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=250),
        per_device_train_batch_size=32,
        learning_rate=3e-3,
        warmup_steps=10,
    )
    trainer = Distil(
        model=student,
        args=args,
        train_dataset=Dataset.from_list([{"prompt": p, "answer": a} for p, a in crowd]),
        data_collator=lambda rows: kit.pairs(tok, [(r["prompt"], r["answer"]) for r in rows]),
        processing_class=tok,
    )
    args.remove_unused_columns = False
    trainer.teacher = teacher
    trainer.reduction = "batchmean" if healthy else "mean"
    return trainer


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
