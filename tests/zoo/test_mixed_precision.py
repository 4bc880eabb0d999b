"""fp16 mixed precision on a CPU: the Trainer ignores it, and the mixin does not (4 s)."""

import pytest
import torch

from course_utils.reproductions.lesson_05.gemma_dpo import dpo_trainer
from course_utils.zoo.mixed_precision import Float16OnCpu

pytestmark = [
    # peft and trl warn about their own defaults when a tiny model is trained.
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(torch.cuda.is_available(), reason="the Trainer obeys fp16=True on CUDA"),
]


def log_of(trainer) -> list[tuple[float, float]]:
    trainer.train()
    return [(e["loss"], e["grad_norm"]) for e in trainer.state.log_history if "loss" in e]


def healthy(**changes):
    return dpo_trainer(stretch=1, device="cpu", **changes)


def test_the_fp16_run_is_not_the_fp32_run():
    fp16, fp32 = log_of(healthy(fp16=True)), log_of(healthy(fp16=False))
    assert all(half != full for (_, half), (_, full) in zip(fp16, fp32, strict=True))
    for (_, half), (_, full) in zip(fp16, fp32, strict=True):
        assert half == pytest.approx(full, rel=0.1)  # and it is a good approximation of it


def test_without_the_mixin_fp16_is_silently_the_fp32_run(monkeypatch):
    # When this fails the trap of lesson 05 is gone: accelerate obeys fp16 on a CPU (1.15 did not).
    monkeypatch.delattr(Float16OnCpu, "create_accelerator_and_postprocess")
    assert log_of(healthy(fp16=True)) == log_of(healthy(fp16=False))


def test_matrix_products_run_in_float16_and_weights_stay_float32():
    trainer, seen = healthy(fp16=True, max_steps=1), set()
    layer = trainer.model.base_model.model.model.layers[0]
    layer.mlp.down_proj.register_forward_hook(lambda _m, _i, out: seen.add(out.dtype))
    trainer.train()
    assert seen == {torch.float16}
    assert {p.dtype for p in trainer.model.parameters()} == {torch.float32}


def test_a_step_with_an_overflow_is_skipped_and_halves_the_scale():
    trainer = dpo_trainer(device="cpu", max_steps=2)
    before = {n: p.clone() for n, p in trainer.model.named_parameters()}
    trainer.train()
    assert trainer.accelerator.scaler.get_scale() == 2.0**16 / 4
    assert all(torch.equal(p, before[n]) for n, p in trainer.model.named_parameters())


def test_gradients_are_unscaled_before_they_are_clipped_and_logged():
    ((_, norm),) = log_of(healthy(fp16=True, max_steps=1))
    assert norm < 100  # the scaled norm is 65536 times as large


def test_the_mixin_does_nothing_unless_fp16_is_asked_for():
    trainer = healthy(fp16=False)
    assert trainer.accelerator.scaler is None and not trainer.accelerator.native_amp
