"""Printed tensors without a name, and weights that were compared and hardly moved."""

import pytest
from explain_shapes import rows

from tests.helpers.explained import answer

LEVEL = {"loss": lambda n: 4.1 - n % 3 / 30, "eval_loss": 3.9, "learning_rate": 2e-5}
FINE = [f"{{'loss': {2 - n / 9:.3f}, 'learning_rate': 0.0001}}" for n in range(9)]


def level(**change) -> list[str]:
    return [str(row) for row in rows(9, **LEVEL | {"eval_loss": lambda n: 3.9 + n / 9e4} | change)]


@pytest.mark.parametrize(
    "said",
    [("model.head.weight.grad.norm()", "tensor(2.0e-07)"), ("and now", "tensor(0.)")],
)
def test_a_tensor_that_is_printed_beside_named_losses_is_none(said):
    one = answer(*FINE, *said)
    assert not one.causes and one.num_entries == len(FINE)


@pytest.mark.parametrize("asked", ["w.grad.abs().mean()", ">>> net.bias.grad.max()"])
def test_a_tensor_that_was_asked_for_is_no_loss(asked):
    assert not answer(asked, "tensor(nan)").num_entries


@pytest.mark.parametrize("before", ["", "print(loss)", ">>> loss.detach()"])
def test_a_tensor_alone_is_a_loss(before):
    one = answer(before, "tensor(3.1, device='cuda:0')", "tensor(nan, device='cuda:0')")
    assert one.num_entries == 2 and one.not_finite


ASKED = (
    ("(new - old).abs().max(), old.std()", "(tensor(0.0004), tensor(0.9987))"),
    ("table.std()", "tensor(1.0021)", "(b - a).abs().max()", "tensor(0.0004, device='cuda:0')"),
    ("max weight change: 4e-4, embedding std: 1.0",),
)


@pytest.mark.parametrize("said", ASKED)
def test_weights_that_move_by_a_small_part_of_their_size_have_too_small_a_rate(said):
    one = answer(*level(), *said).causes[0]
    assert one.key == "rate_too_low" and "0.0004" in one.says and "0.05" in one.fix
    assert any("20 such steps" in told for told in one.for_it)


@pytest.mark.parametrize(
    ("said", "change"),
    [
        (("(new - old).abs().max(), old.std()", "(tensor(0.21), tensor(0.9987))"), {}),
        (("(new - old).abs().max(), old.mean()", "(tensor(0.0004), tensor(0.9987))"), {}),
        (ASKED[0], {"eval_loss": lambda n: 3.9 - n / 5}),  # it learns
    ],
)
def test_weights_that_move_or_learn_are_left_alone(said, change):
    found = answer(*level(**change), *said).causes
    assert "rate_too_low" not in [one.key for one in found]


CONTRASTIVE = [
    f"{{'loss': {3.9 - n / 50}, 'learning_rate': 0.0001, 'eval_loss': {1.95 - n / 90}}}"
    for n in range(9)
]


@pytest.mark.parametrize(("name", "is_named"), [("CrossEntropy", True), ("InfoNCE", False)])
def test_a_loss_among_the_rows_of_a_batch_is_larger_in_a_larger_batch(name, is_named):
    found = [one.key for one in answer(f"loss = {name}(model)", *CONTRASTIVE).causes]
    assert ("loss_off_by_a_factor" in found) == is_named
