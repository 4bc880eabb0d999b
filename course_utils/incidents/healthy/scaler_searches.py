"""Float16 mixed precision whose scaler begins far too high and skips its first steps."""

import torch
from transformers import Trainer

from course_utils import zoo
from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.runs import learns, logged, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model
from course_utils.zoo.mixed_precision import Float16OnCpu

START = 2.0**20


class HalfTrainer(Float16OnCpu, Trainer):
    """fp16=True obeyed on a CPU; the scaler starts where a long run may have taken it."""

    def create_accelerator_and_postprocess(self) -> None:
        super().create_accelerator_and_postprocess()
        self.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=START)


def _make(seed: int) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    trainer = plain_trainer(
        model,
        reply_rows(4 * 20, seed, tokenizer),
        tokenizer.pad_token_id,
        kind=HalfTrainer,
        fp16=True,
        per_device_train_batch_size=4,
        learning_rate=2e-4,
        max_steps=20,
        seed=seed,
    )
    scaler = trainer.accelerator.scaler
    learnt = learns(model, reply_rows(64, seed + 1, tokenizer), tokenizer.pad_token_id)
    return of_trainer(trainer, lambda: {"scale": scaler.get_scale()} | learnt())


def _holds(run: Run) -> bool:
    skipped = sum(norm - norm != 0 for norm in logged(run, "grad_norm"))
    facts = run.facts()
    return 0 < skipped < 8 and facts["scale"] < START and facts["loss after"] < facts["loss before"]


LOOK_ALIKE = LookAlike(
    name="scaler_searches",
    title="gradient scaler skips its first steps",
    looks="grad_norm is inf or nan in the first steps of an fp16 run.",
    because="The gradient scaler searches for its scale: it skips a step that overflows, and "
    "halves the scale.",
    threads=("trl#1371",),
    make=_make,
    holds=_holds,
)
