"""A schedule that a file or its name replaces, and a run that is over before it saves."""

import pytest

from tests.helpers.explained import first, keys


def run(*rates: float, losses: tuple[float, ...] = ()) -> list[str]:
    losses = losses or tuple(1.6 - n / 20 for n in range(len(rates)))
    return [
        f"{{'loss': {loss:.3f}, 'grad_norm': 0.8, 'learning_rate': {rate}, 'epoch': {n / 4}}}"
        for n, (rate, loss) in enumerate(zip(rates, losses, strict=True))
    ]


LEVEL = run(*[2e-5] * 8)
FALLS = run(*[2e-5 * (1 - n / 8) for n in range(8)])
FILE = '"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}},'
COSINE = "python train.py --lr_scheduler_type cosine --warmup_ratio 0.03 --deepspeed ds.json"
CONSTANT = "args = SFTConfig(lr_scheduler_type='constant', warmup_steps=100)"
REARS = run(*[1e-4] * 6, losses=(1.9, 2.6, 2.3, 2.0, 1.8, 1.7))


@pytest.mark.parametrize(
    "lines, fix",
    [
        ((COSINE, FILE, *LEVEL), "DeepSpeed"),
        (("lr_scheduler_type: linear", FILE, *LEVEL), "DeepSpeed"),
        (("The warm-up is not there, why?", CONSTANT, *LEVEL), "constant_with_warmup"),
        ((CONSTANT, *REARS), "constant_with_warmup"),
    ],
)
def test_a_constant_rate_is_of_the_schedule_that_is_in_force(lines, fix):
    one = first(*lines)
    assert one.key == "rate_not_asked" and fix in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (COSINE, FILE, *FALLS),
        (COSINE, FILE.replace("WarmupLR", "WarmupDecayLR"), *LEVEL),
        (COSINE, FILE, *LEVEL[:3]),  # so far
        (CONSTANT, *LEVEL),  # a usual recipe, whose loss does not mind
        (CONSTANT.replace("constant", "constant_with_warmup"), *REARS),
        (CONSTANT.replace("=100", "=0"), *REARS),
    ],
)
def test_a_rate_that_falls_or_is_meant_to_stand_is_not(lines):
    assert "rate_not_asked" not in keys(*lines)


STEPS = "  Total optimization steps = 120"
ENDS = "{'train_runtime': 900.1, 'train_loss': 1.41, 'epoch': 3.0}"
NONE = "It is done, but there is no checkpoint in the output folder."


@pytest.mark.parametrize(
    "lines",
    [
        (NONE, "TrainingArguments(out, save_steps=500)", STEPS, *FALLS, ENDS),
        (NONE, "save_steps: 1000", "eval_steps: 1000", *FALLS, "100%|####| 120/120 [10:02<00:00]"),
        ("Why is no eval_loss printed in the log?", "--eval_steps 200", STEPS, *FALLS, ENDS),
    ],
)
def test_a_run_that_is_over_before_its_first_checkpoint_has_none(lines):
    one = first(*lines)
    assert one.key == "ends_before_it_saves" and "save_steps" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (NONE, "TrainingArguments(out, save_steps=50)", STEPS, *FALLS, ENDS),
        ("TrainingArguments(out, save_steps=500)", STEPS, *FALLS, ENDS),  # nobody misses it
        (NONE, "save_steps=500", STEPS, *FALLS, "Saving model checkpoint to out/checkpoint-120"),
        (NONE, "save_steps=500", "trainer.save_model('out')", STEPS, *FALLS, ENDS),
    ],
)
def test_a_run_that_saves_or_is_not_missed_is_not(lines):
    assert "ends_before_it_saves" not in keys(*lines)
