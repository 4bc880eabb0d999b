"""Schedules that are counted in other steps than the run takes, and adapters at a rate for whole
models."""

import pytest

from tests.helpers.explained import keys


def run(rates, first=2.0, falls=0.05, of: int = 0) -> list[str]:
    head = f"/{of}" if of else ""
    return [
        f"step {100 * n}{head} | loss {first - falls * n:.4f} | lr {rate:.3e}"
        for n, rate in enumerate(rates, 1)
    ]


CLIMBS, FLAT = [1e-6 * n for n in range(1, 9)], [2e-5 - 1e-8 * n for n in range(8)]
FALLS = [2e-5 * (9 - n) / 8 for n in range(1, 9)]


@pytest.mark.parametrize(
    "lines",
    [
        ["num_warmup_steps=3200", "max_steps: 800", *run(CLIMBS)],
        ["warmup_iters = 1000", *run(CLIMBS, of=800)],
        ["lr_warmup_steps: 2000, peak_lr 2e-5", *run(CLIMBS), "saved out/final"],
        ["sched_warmup   1600", "optimizer_steps   800", *run(CLIMBS)],
    ],
)
def test_a_warm_up_that_is_longer_than_the_whole_run_never_ends(lines):
    assert keys(*lines)[0] == "schedule_ends_early"


@pytest.mark.parametrize(
    "lines",
    [
        ["sched_warmup 3200", *run(CLIMBS)],
        ["warmup_iters: 3200", "max_steps: 8000", *run(CLIMBS)],
        ["num_warmup_steps=800", "max_steps: 800", *run(CLIMBS)],
        ["num_warmup_steps=100", "max_steps: 800", *run(FALLS)],
        ["lr_scheduler: constant, num_training_steps=9000", "max_steps: 800", *run(FLAT)],
        ["lr_scheduler: cosine, num_training_steps=800", "max_steps: 800", *run(FALLS)],
    ],
)
def test_a_warm_up_that_goes_on_or_ends_is_no_fault(lines):
    assert keys(*lines) == []


def test_a_schedule_that_is_far_longer_than_the_run_never_falls():
    lines = ["cosine schedule, num_training_steps=25600", "max_steps: 800", *run(FLAT)]
    assert keys(*lines)[0] == "schedule_too_slow"


LOW = [1e-6 * n / 8 for n in range(8, 0, -1)]


@pytest.mark.parametrize(
    "said", ["finetuning_type: lora", "adapter: qlora", "LoraConfig(r=16)", "use_peft lora_r 64"]
)
def test_an_adapter_at_a_rate_for_whole_models_does_not_move(said):
    moved = "lora_B max 2.2e-04"
    assert keys(said, *run(LOW, 1.4, 0.0005), moved)[0] == "rate_too_low"
    assert keys(said, *run(LOW, 1.4, 0.0005))[0] == "rate_too_low"


@pytest.mark.parametrize(
    "lines",
    [
        ["full fine-tuning, no lora", *run(LOW, 1.4, 0.0005)],
        ["finetuning_type: lora", *run([100 * rate for rate in LOW], 1.4, 0.0005)],
        ["finetuning_type: lora", *run(LOW, 1.4, 0.05)],
        run(LOW, 1.4, 0.0005),
    ],
)
def test_whole_models_usual_rates_and_losses_that_fall_are_left_alone(lines):
    assert "rate_too_low" not in keys(*lines)
