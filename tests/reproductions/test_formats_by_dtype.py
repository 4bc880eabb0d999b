"""A right answer may give a format as torch's dtype; the lessons' later cells train with it too."""

import torch

from course_utils.reproductions.lesson_04.verl_grpo import VerlGrpo
from course_utils.reproductions.lesson_05.gemma_dpo import dpo_trainer


def test_the_run_of_lesson_04_takes_a_dtype_for_its_logits():
    logps = []
    for logits_dtype in (torch.float32, "float32"):
        run = VerlGrpo(logits_dtype=logits_dtype, device="cpu", seed=0)
        batch = run.rollout()
        run.prepare(batch)
        logps.append(batch.old_log_prob)
    assert logps[0].dtype is torch.float32
    assert torch.equal(*logps)


def test_the_run_of_lesson_05_takes_a_dtype_for_its_weights():
    trainer = dpo_trainer(device="cpu", fp16=False, dtype=torch.bfloat16, max_steps=1)
    base = {w.dtype for name, w in trainer.model.named_parameters() if "lora_" not in name}
    assert base == {torch.bfloat16}
