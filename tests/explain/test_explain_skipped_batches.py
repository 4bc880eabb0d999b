"""A resume that skips batches by the number of steps, with and without accumulation."""

import pytest

from tests.helpers.explained import first

CODE = [
    "gradient_accumulation_steps: 8",
    "loader = accelerator.skip_first_batches(loader, completed_steps)",
    "for batch in loader:",
    "    with accelerator.accumulate(model):",
    "        accelerator.backward(model(**batch).loss)",
    "    if accelerator.sync_gradients:",
    "        completed_steps += 1",
]
RUN = [
    f"{{'loss': {2 - n / 20:.2f}, 'grad_norm': 1.1, 'learning_rate': 1e-5, 'step': {n}}}"
    for n in range(1, 9)
]


def test_batches_are_skipped_by_steps_that_took_several():
    one = first(*CODE, "skipped the first 300 batches", *RUN)
    assert one.key == "resumed_without_state" and "(8 of them)" in one.says
    assert "2400 had been read" in one.for_it[-1] and "step * gradient" in one.fix


def test_a_loop_that_draws_them_is_the_same():
    loop = ["for _ in range(step):", "    next(data_iter)"]
    steps = ["for _ in range(cfg.accum):", "    b = next(data_iter)", "step += 1"]
    assert first(*loop, *steps, *RUN).key == "resumed_without_state"
    assert first("step = step * accum", *loop, *steps, *RUN) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("loader, completed_steps)", "loader, completed_steps * accum)"),
        ("steps: 8", "steps: 1"),
        ("    with accelerator.accumulate(model):\n", ""),
        ("completed_steps += 1", "others += 1"),
    ],
)
def test_a_number_of_batches_is_right(old, new):
    assert first(*"\n".join(CODE).replace(old, new).split("\n"), *RUN) is None


def test_steps_that_may_be_batches_are_not_blamed():
    text = "\n".join(CODE).replace("completed_steps", "step")
    own = text.replace("with accelerator.accumulate(model):", "if step % accum == 0: update()")
    assert first(*own.split("\n"), *RUN) is None
