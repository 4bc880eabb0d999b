"""A rate that a resume brings back, and adapters whose keys stand under another class's path."""

import pytest

from tests.helpers.explained import first


def run(start: int, stop: int, scale: float = 1.0, rise: float = 0.0):
    return [
        f"{{'loss': {1.4 - n / 100 + rise * n:.4f}, 'grad_norm': 1.{n}, "
        f"'learning_rate': {scale * (2e-4 - n * 9.137e-6):.10g}, 'step': {n * 100}}}"
        for n in range(start, stop)
    ]


ONE = ["python train.py --learning_rate 2e-4 --save_steps 500", *run(1, 9)]
TWO = ["python train.py --learning_rate 2e-5 --resume_from_checkpoint out/checkpoint-500"]
SAVED = ">>> torch.load('out/checkpoint-500/scheduler.pt')['base_lrs'] # base_lrs: [0.0002]"


def test_a_resume_goes_on_with_the_rate_of_the_first_start():
    one = first(*ONE, *TWO, *run(6, 11))
    assert one.key == "rate_not_asked" and "2e-5 is asked for" in one.says
    assert any("to the last digit" in row for row in one.for_it) and "weights" in one.fix


def test_the_saved_schedule_alone_tells_it_too():
    one = first(*TWO, SAVED, *run(6, 11))
    assert one.key == "rate_not_asked" and any("base_lrs 0.0002" in row for row in one.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        [*ONE, *TWO, *run(6, 11, scale=0.1)],  # the new rate is used
        [*ONE, TWO[0].replace("2e-5", "2e-4"), *run(6, 11)],  # no other rate is asked for
        [TWO[0].replace("2e-5", "2e-4"), SAVED, *run(6, 11)],
    ],
)
def test_a_rate_that_is_in_force_or_was_kept_is_no_fault(lines):
    one = first(*lines)
    assert one is None or one.key != "rate_not_asked"


FILE = "base_model.model.text_model.layers.3.mlp.up_proj.lora_{}.weight"
WANTS = "base_model.model.model.layers.3.mlp.up_proj.lora_{}.default.weight"
WARNS = "UserWarning: Found missing adapter keys while loading the checkpoint: ['{}', '{}']"


def test_the_same_layers_under_the_path_of_another_class():
    warned = WARNS.format(WANTS.format("A"), WANTS.format("B"))
    zero = [">>> m.layers[3].mlp.up_proj.lora_B['default'].weight.abs().max().item()", "0.0"]
    one = first("keys of the file:", FILE.format("A"), FILE.format("B"), warned, *zero)
    assert one.key == "adapter_not_loaded" and "base_model.model.text_model" in one.says
    assert any("says 0 to" in row for row in one.for_it)
    same = first("keys of the file:", WANTS.format("A"), warned)
    assert same is None or "class" not in same.says
