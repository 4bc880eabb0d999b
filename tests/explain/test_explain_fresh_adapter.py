"""An adapter's A without a gradient: in the first step alone, and for ever."""

import pytest

from tests.helpers.explained import answer

RUN = [f"step {n} loss {1.9 - n / 15:.3f} lr 2e-4 grad_norm 0.8" for n in range(1, 11)]


def shown(a, steps=(1, 2, 3)):
    return [
        f"[grads] step={n} q_proj lora_A grad norm {a(n):.3e} lora_B grad norm 2.1e-02"
        for n in steps
    ]


def test_a_gradient_of_0_in_the_first_step_is_the_usual_start():
    told = answer(*shown(lambda n: 1e-4 * (n - 1)), *RUN)
    assert not told.causes and told.is_healthy
    assert told.findings[0].key == "adapter_begins_at_0" and "B is 0 there" in told.findings[0].says


@pytest.mark.parametrize(
    "rows",
    [
        shown(lambda n: 0.0),
        shown(lambda n: 1e-4 * (n - 1), steps=(1,)),
        shown(lambda n: 1e-4 * n),
    ],
)
def test_a_gradient_that_stays_0_or_never_was_is_not_explained(rows):
    assert not answer(*rows, *RUN).is_healthy
