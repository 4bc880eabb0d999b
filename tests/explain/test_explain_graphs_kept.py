"""A validation with gradients on that keeps each loss with its graph, until the memory ends."""

import pytest

from tests.helpers.explained import answer, first

FULL = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 26.00 MiB."
IN_LINE = (
    "for batch in train_loader:",
    "    loss = model(**batch).loss",
    "    loss.backward()",
    "    optimizer.step()",
    "model.eval()",
    "eval_losses = []",
    "for batch in eval_loader:",
    "    loss = model(**batch).loss",
    "    eval_losses.append(loss)",
)
FUNCTION = (
    "def evaluate(net, loader):",
    "    net.eval()",
    "    running = 0.0",
    "    for x, y in loader:",
    "        loss = criterion(net(x), y)",
    "        running = running + loss * len(x)",
    "    return running",
)
COUNTED = (
    "def val_epoch(net):",
    "    for rows in val_dl:",
    "        out = net(**rows)",
    "        total += out.loss / len(val_dl)",
)
GROWS = ("val 0 alloc 21.2GB", "val 1 alloc 24.9GB", "val 2 alloc 28.6GB", "val 3 alloc 32.3GB")


@pytest.mark.parametrize("code", [IN_LINE, FUNCTION, COUNTED])
def test_losses_that_are_kept_with_gradients_on_fill_the_memory(code):
    one = first(*code, "step 400 loss 1.31 lr 2e-05", *GROWS, FULL)
    assert one.key == "graphs_kept" and "no_grad" in one.fix and "item()" in one.fix
    assert any("grows by 3.7" in row for row in one.for_it)


@pytest.mark.parametrize(
    "code",
    [
        tuple(one.replace("append(loss)", "append(loss.item())") for one in IN_LINE),
        tuple(one.replace("append(loss)", "append(loss.detach())") for one in IN_LINE),
        ("@torch.no_grad()", *FUNCTION),
        (*IN_LINE[:4], "    total += loss"),  # of the training, whose graph backward has freed
        (*FUNCTION[:6], "    return running.item()", "with torch.inference_mode():", "    pass"),
        ("def evaluate(net, dl):", "    return net(dl)", *IN_LINE[:2], "    total += loss"),
    ],
)
def test_numbers_that_are_kept_or_gradients_that_are_off_are_not(code):
    found = answer(*code, FULL)
    assert "graphs_kept" not in [one.key for one in found.causes]


def test_without_a_full_memory_nothing_is_said_of_it():
    assert "graphs_kept" not in [one.key for one in answer(*IN_LINE, "val loss 1.2").causes]
