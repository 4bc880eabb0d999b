"""Weights that are bfloat16 themselves: a tiny rate, a loss that stands, few elements that move."""

import pytest

from tests.helpers.explained import first, keys

LOAD = 'net = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16).to("cuda")'
CAST = ("net = AutoModelForCausalLM.from_pretrained(name)", "net = net.to(torch.bfloat16)")
LOOP = (
    "opt = torch.optim.AdamW(net.parameters(), lr=1e-6)",
    "for batch in loader:",
    "    net(**batch).loss.backward()",
    "    opt.step(); opt.zero_grad()",
)
TRAINER = (
    "args = TrainingArguments(out, learning_rate=1e-6, bf16=True)",
    "trainer = Trainer(model=net, args=args, train_dataset=rows)",
    "trainer.train()",
)
STANDS = [
    f"step {n * 100} loss {loss} grad_norm 2.{n} lr 1.0e-06"
    for n, loss in enumerate((1.61, 1.60, 1.62, 1.60, 1.63, 1.61, 1.60, 1.62, 1.61))
]
FALLS = [f"step {n * 100} loss {1.7 - n / 20:.2f} grad_norm 2.1 lr 1.0e-06" for n in range(9)]
SHARE = (
    ">>> 98.4% of the weights are bit-identical to the start",
    "fraction of elements changed: 0.013",
    "1.9% of the elements differ after 500 steps",
)


@pytest.mark.parametrize("made", [(LOAD, *LOOP), (*CAST, *LOOP), (LOAD, *TRAINER)])
def test_steps_that_bfloat16_cannot_hold_are_named_from_code_and_a_loss_that_stands(made):
    one = first(*made, *STANDS)
    assert one.key == "rounding_swallows" and "float32" in one.fix and "rate" in one.fix


@pytest.mark.parametrize("share", SHARE)
def test_a_small_share_of_changed_elements_tells_it_too(share):
    one = first(LOAD, *STANDS, share)
    assert one.key == "rounding_swallows" and any("%" in x or "0.0" in x for x in one.for_it)


def test_a_bare_number_below_the_code_that_counts_is_a_share():
    code = "print(sum((p != q).sum().item() for p, q in zip(net.parameters(), old)) / total)"
    assert first(LOAD, *STANDS, code, "0.0121").key == "rounding_swallows"


@pytest.mark.parametrize(
    "lines",
    [
        (LOAD, *LOOP, *FALLS),
        (LOAD.replace("bfloat16", "float32"), *LOOP, *STANDS),
        (LOAD, "net = get_peft_model(net, LoraConfig(r=8))", *LOOP, *STANDS),
        (LOAD, "# deepspeed zero-2, float32 masters", *LOOP, *STANDS),
        (LOAD, *LOOP, *(one.replace("1.0e-06", "3.0e-05") for one in STANDS)),
        (LOAD, *FALLS, "91% of the weights changed, 9% are identical"),
    ],
)
def test_a_run_that_learns_or_keeps_float32_is_not(lines):
    assert "rounding_swallows" not in keys(*lines)
