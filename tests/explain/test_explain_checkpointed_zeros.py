"""Adapters that are 0 as they were made, since blocks are checkpointed over frozen inputs."""

import pytest

from tests.helpers.explained import keys

RUN = [f"step {100 * n} loss {1.9 - 0.03 * n:.4f} gnorm 0.7" for n in range(8)]
HEAD = "LoraConfig(r=8, task_type='CAUSAL_LM', modules_to_save=['lm_head'])"
ON = "gradient_checkpointing: true"
ZERO = "lora_B.default.weight  n=224  max|w| 0.0"


@pytest.mark.parametrize(
    "lines",
    [
        [HEAD, ON, *RUN, ZERO],
        [HEAD, "model.gradient_checkpointing_enable()", *RUN, "lora_B norm: 0.000e+00"],
        ["additional_target: lm_head", "--gradient_checkpointing", *RUN, ZERO],
        ["LoraConfig(task_type=TaskType.SEQ_CLS, r=16)", ON, *RUN, "all lora_B are exactly zero"],
        ["model.lm_head.weight.requires_grad = True", ON, *RUN, "lora_A q_proj grad None"],
    ],
)
def test_adapters_that_stay_0_under_checkpointing_get_no_gradient(lines):
    assert keys(*lines)[0] == "checkpoint_without_gradient"


@pytest.mark.parametrize(
    "lines",
    [
        [HEAD, *RUN, ZERO],
        [HEAD, ON, *RUN, "lora_B.default.weight  n=224  max|w| 0.0123"],
        [HEAD, ON, "before training: lora_B norm 0.0", *RUN],
        [HEAD, ON, "model.enable_input_require_grads()", *RUN, ZERO],
        [HEAD, ON, "gradient_checkpointing_kwargs: {use_reentrant: false}", *RUN, ZERO],
        ["LoraConfig(modules_to_save=['embed_tokens', 'lm_head'])", ON, *RUN, ZERO],
        ["LoraConfig(r=8, target_modules='all-linear')", ON, *RUN, ZERO],
        [ON, "m.gradient_checkpointing_enable()", "m = get_peft_model(m, cfg)", HEAD, *RUN, ZERO],
    ],
)
def test_zeros_for_another_reason_are_not_laid_to_it(lines):
    assert "checkpoint_without_gradient" not in keys(*lines)
