"""The format that weights are loaded in: float16 that is trained as it is, float32 that fills."""

import pytest

from tests.helpers.explained import answer, first, keys

DEAD = (
    "{'loss': 2.11, 'grad_norm': 4.2, 'learning_rate': 2e-05, 'epoch': 0.01}",
    *["{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2e-05, 'epoch': 0.02}"] * 3,
)
OWN = ("step 0 loss 2.11", "step 1 loss nan", "step 2 loss nan", "step 3 loss nan")
SETTINGS = (
    ("python sft.py --model_name_or_path org/base-1b --torch_dtype float16 --optim adamw_torch",),
    ("torch_dtype: float16", "learning_rate: 2.0e-5", "optim: adamw_torch"),
    (">>> next(model.parameters()).dtype", "torch.float16", "model.half()"),
    ("all params dtype: torch.float16, no LoRA",),
)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("log", [DEAD, OWN])
def test_float16_weights_under_adamw_are_dead_by_the_first_update(settings, log):
    one = first(*settings, *log)
    assert one.key == "half_weights" and "first update" in one.says and "float32" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (*SETTINGS[0], "--fp16 True", *DEAD),
        (*SETTINGS[0], "trainable params: 4,194,304 (LoRA)", *DEAD),
        (*SETTINGS[0], "--deepspeed zero2.json", *DEAD),
        (*SETTINGS[0], "adam_epsilon=1e-4", *DEAD),
        ("vllm_dtype: float16", *DEAD),
        (*SETTINGS[0], DEAD[0], DEAD[0], DEAD[0].replace("2.11", "2.02")),
        (*SETTINGS[0], *[DEAD[0]] * 9, *DEAD[1:]),  # it trained for a while
    ],
)
def test_another_way_to_train_or_to_die_is_not(lines):
    assert "half_weights" not in keys(*lines)


LOADS = 'model = AutoModelForCausalLM.from_pretrained("org/base-7b")'
PEFT = "model = get_peft_model(model, LoraConfig(r=16))"
FULL = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 172.00 MiB. GPU 0 has a "
    "total capacity of 23.64 GiB of which 98.81 MiB is free. Of the allocated memory {:.2f} GiB is "
    "allocated by PyTorch"
)
FRAME = '  File "torch/nn/modules/module.py", line 802, in _apply'


@pytest.mark.parametrize(
    "lines",
    [
        (LOADS, FRAME, FULL.format(22.9)),
        (LOADS, PEFT, "8.03B weights, after load: 29.92 GiB", FULL.format(39.0)),
        ("all params: 6,738,415,616", LOADS, PEFT, "loaded, 25.1 GiB", FULL.format(30.0)),
    ],
)
def test_a_model_that_is_loaded_without_a_format_has_4_bytes_a_weight(lines):
    one = first(*lines)
    assert one.key == "cuda_memory" and "float32" in one.says and "torch_dtype" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (LOADS.replace(")", ", torch_dtype=torch.bfloat16)"), FRAME, FULL.format(22.9)),
        (LOADS.replace(")", ", quantization_config=bnb)"), PEFT, FRAME, FULL.format(22.9)),
        (LOADS, "transformers 5.1.0", FRAME, FULL.format(22.9)),
        (LOADS, FULL.format(22.9)),  # in a step of training, and no size behind the load
        (LOADS, PEFT, "loaded, 14.2 GiB", FULL.format(22.9)),
        (LOADS, "model.to(torch.bfloat16)", FRAME, FULL.format(22.9)),
    ],
)
def test_a_model_in_16_bits_or_of_unknown_size_is_not(lines):
    assert not any("float32" in one.says for one in answer(*lines).causes)
