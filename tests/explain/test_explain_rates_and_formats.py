"""Rates that are an adapter's or a whole model's, float16 that overflows, bfloat16 that rounds."""

import pytest

from course_utils.explain import explain
from tests.helpers.explained import first, key


def epochs(rate: float, falls: float, steps: int = 9) -> list[str]:
    return [
        f"{{'loss': {1.61 - falls * n / steps:.4f}, 'grad_norm': 0.4{n % 3}, 'learning_rate': "
        f"{rate * (1 - n / 10):.3g}, 'epoch': {n / 4:.2f}}}"
        for n in range(steps)
    ]


ADAPTER = ["train_type: lora", "lora_rank: 16", "model: Qwen2.5-7B"]


def test_an_adapter_at_1e_6_is_told_without_steps():
    one = first(*ADAPTER, *epochs(2e-6, 0.01))
    assert one.key == "rate_too_low" and "2e-06" in one.says and "1e-4 to 2e-4" in one.fix


def test_the_largest_number_of_b_is_quoted_where_there_are_no_steps():
    one = first(*ADAPTER, *epochs(2e-6, 0.01), "after training: lora_B abs max 3.2e-04")
    assert any("3.2e-04" in told for told in one.for_it)


@pytest.mark.parametrize(
    ("rate", "falls", "settings"),
    [(2e-6, 0.5, ADAPTER), (1e-4, 0.01, ADAPTER), (2e-6, 0.01, ["train_type: full"])],
)
def test_a_loss_that_falls_or_another_rate_or_a_whole_model_is_no_adapter_that_waits(
    rate, falls, settings
):
    one = first(*settings, *epochs(rate, falls))
    assert one is None or "adapter" not in one.says


def whole(rate: str, losses: list[float]) -> list[str]:
    return [f"step {10 * n} loss {loss} lr {rate} grad_norm 3.1" for n, loss in enumerate(losses)]


BROKEN = [1.31, 1.22, 2.9, 4.4, 3.2, 2.6, 2.2, 2.0]


@pytest.mark.parametrize(
    "setting",
    ["finetuning_type: full", "--train_type full", "full fine-tuning, 8 GPUs", "use_peft=False"],
)
def test_a_whole_model_at_an_adapters_rate(setting):
    one = first(setting, *whole("2e-4", BROKEN))
    assert one.key == "rate_too_high" and "1e-5 to 2e-5" in one.fix
    assert "1.22" in one.says and "4.4" in one.says and "to 2" in one.says


@pytest.mark.parametrize(
    ("setting", "rate", "losses"),
    [
        ("finetuning_type: full", "2e-4", [1.3, 1.2, 1.15, 1.1, 1.05, 1.02, 1.0, 0.98]),
        ("finetuning_type: full", "2e-4", [1.3, 1.2, 1.9, 1.1, 1.05, 1.02, 1.0, 0.98]),
        ("finetuning_type: full, a model of 125M", "5e-4", BROKEN),
        ("lora_rank: 16, full fine-tuning was worse", "2e-4", BROKEN),
    ],
)
def test_a_loss_that_comes_back_and_small_models_and_adapters_are_not_named_so(
    setting, rate, losses
):
    one = first(setting, *whole(rate, losses))
    assert one is None or "whole model" not in one.says


def scales(*values: float, norm: str = "nan") -> list[str]:
    return [
        f"{{'loss': 0.0, 'grad_norm': {norm}, 'learning_rate': 0.0, 'scaler_scale': {value}, "
        f"'epoch': {n / 100}}}"
        for n, value in enumerate(values)
    ]


def test_a_scale_that_only_falls_is_an_overflow_in_every_step():
    one = first("fp16=True", *scales(65536, 8192, 128, 1, 0.0078))
    assert one.key == "fp16_overflow" and any("scaler_scale" in told for told in one.for_it)


def test_a_scale_that_settles_is_no_overflow():
    assert key("fp16=True", *scales(65536, 32768, 16384, 16384, norm="1.2")) != "fp16_overflow"


BLOCKS = [
    "hidden states, abs max by layer",
    "decoder.layers.0: 310.5",
    "decoder.layers.8: 5.2e+03",
    "decoder.layers.16: 2.9e+04",
    "decoder.layers.17: inf",
    "decoder.layers.18: nan",
]
DEAD = scales(1.0)


def test_blocks_whose_output_grows_until_it_is_inf_in_float16():
    one = first("torch_dtype=float16", *BLOCKS, *DEAD)
    assert one.key == "fp16_overflow" and "decoder.layers.17" in one.says and "65504" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        ["torch_dtype=bfloat16", *BLOCKS],
        ["torch_dtype=float16", *BLOCKS[:4], "decoder.layers.17: 3.1e+04"],
        ["torch_dtype=float16", *BLOCKS[:2], "decoder.layers.1: inf", "decoder.layers.2: nan"],
    ],
)
def test_other_formats_and_blocks_within_the_range_are_no_overflow(lines):
    assert not any("65504" in one.says for one in explain("\n".join([*lines, *DEAD, ""])).causes)


STEPS = [
    f"step:{n} - actor/grad_norm:0.3 - actor/lr:1e-06 - critic/rewards/mean:0.41"
    for n in range(1, 7)
]
FEW = [
    "name numel unchanged",
    "layers.0.q_proj 1048576 98.61%",
    "layers.0.up_proj 4194304 98.20%",
    "layers.0.norm 4096 100.00%",
]


@pytest.mark.parametrize(
    "table",
    [
        FEW,
        ["tensor  elements != start", "q_proj 1.4%", "up_proj - 1.8%", "norm 0.00%"],
        ["compared with the start: 1.5% of all elements differ, the rest is bit-equal"],
        ["elements changed: 1.5 % after 300 steps"],
    ],
)
def test_few_elements_are_read_from_a_table_its_inverse_or_a_sentence(table):
    one = first("actor.fsdp_config.model_dtype: bf16", *STEPS, *table)
    assert one.key == "rounding_swallows" and any("%" in told for told in one.for_it)


@pytest.mark.parametrize(
    ("setting", "table"),
    [
        ("rollout.dtype: bfloat16", FEW),
        ("actor.fsdp_config.model_dtype: fp32", FEW),
        ("actor.fsdp_config.model_dtype: bf16", ["91 % of all elements differ"]),
    ],
)
def test_a_samplers_format_and_many_changes_are_no_rounding(setting, table):
    assert key(setting, *STEPS, *table) != "rounding_swallows"
