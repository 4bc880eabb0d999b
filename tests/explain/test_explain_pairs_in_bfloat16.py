"""Pairs that stay at ln 2 because each step is rounded away in bfloat16, and those that do not."""

import pytest

from tests.helpers.explained import answer, first

LOADS = "model = AutoModelForCausalLM.from_pretrained(path, torch_dtype=torch.bfloat16)"


def rows(loss: float = 0.6926, norm: float = 11.0, rate: float = 5e-7, fall: float = 0.0):
    return [
        f"{{'loss': {loss - fall * n + 0.0003 * (n % 2):.4f}, 'grad_norm': {norm * (1 + n % 3)}, "
        f"'learning_rate': {rate}, 'rewards/chosen': 0.00{n % 3}, 'rewards/rejected': -0.00{n % 2},"
        f" 'rewards/accuracies': 0.5{n % 5}, 'rewards/margins': 0.001{n % 4}}}"
        for n in range(10)
    ]


COUNTED = [
    ">>> (torch.cat([(a[k] != b[k]).flatten() for k in a]).float().mean())",
    "tensor(0.0064)",
]


@pytest.mark.parametrize(
    "lines",
    [
        [LOADS, *rows(), *COUNTED],
        [LOADS, *rows(), "n = sum(v.numel() for v in a.values()); print(diff / n)  # 0.0064"],
        ["torch.set_default_dtype(torch.bfloat16)", *rows(), "0.7% of the weights differ from sft"],
        ["pure_bf16: true", *rows(), "fraction of weights that changed: 0.0069"],
        ["policy = load(path).to(dtype=torch.bfloat16)", LOADS, *rows()],
        [LOADS, *rows(), "With policy.float() the loss is at 0.58 by step 300, so it learns then."],
        ["One GPU, so no deepspeed for us and it stands still.", LOADS, *rows()],
    ],
)
def test_weights_kept_in_bfloat16_are_named_and_no_larger_rate(lines):
    one = first(*lines)
    assert one.key == "rounding_swallows" and "float32" in one.fix
    assert "larger rate" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        rows(),  # no format is told
        [LOADS, "deepspeed: ds_z2.json", *rows()],
        [LOADS, "peft_config=LoraConfig(r=16)", *rows()],
        [LOADS, *rows(rate=2e-5)],
        [LOADS, *rows(norm=0.0)],
        [LOADS, *rows(loss=0.69, fall=0.02)],
        [LOADS, *rows(loss=0.69, fall=0.02), *COUNTED],  # a float32 copy elsewhere has moved
    ],
)
def test_a_float32_copy_an_adapter_or_a_run_that_learns_is_not_accused(lines):
    assert "rounding_swallows" not in [one.key for one in answer(*lines).causes]
