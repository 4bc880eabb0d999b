"""Updates whose loss is the mean of the means of micro batches of unequal length."""

import pytest

from tests.helpers.explained import keys

TOKENS, LOSSES = (6, 1200, 9, 5), (0.02, 1.5, 0.04, 0.04)
PLAIN, WEIGHED = sum(LOSSES) / 4, sum(n * x for n, x in zip(TOKENS, LOSSES, strict=True)) / 1220


def update(form: str, whole: str, loss: float, tokens=TOKENS) -> list[str]:
    rows = zip(range(4), tokens, LOSSES, strict=True)
    return [*(form.format(k=k, n=n, x=x) for k, n, x in rows), whole.format(x=loss)]


FORMS = [
    ("  micro {k}: label_tokens={n} loss={x}", "step 40 loss={x:.4f}"),
    ("mb {k} | tokens {n} | loss {x}", "update 40 | loss {x:.4f} | gnorm 1.1"),
    ("{{'accum_idx': {k}, 'accum': 4, 'n_tokens': {n}, 'loss': {x}}}", "{{'loss': {x:.4f}}}"),
]


@pytest.mark.parametrize(("form", "whole"), FORMS)
def test_a_plain_mean_over_unequal_micro_batches_is_named(form, whole):
    assert keys(*update(form, whole, PLAIN))[0] == "split_changes_loss"


@pytest.mark.parametrize(("form", "whole"), FORMS)
def test_a_mean_over_tokens_or_equal_micro_batches_is_not(form, whole):
    assert "split_changes_loss" not in keys(*update(form, whole, WEIGHED))
    assert "split_changes_loss" not in keys(*update(form, whole, PLAIN, (900, 1200, 1000, 990)))
