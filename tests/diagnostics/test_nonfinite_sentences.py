"""The sentence of a report names the numbers of the element that broke. About 3 s."""

import re

import pytest
import torch

from course_utils.diagnostics import trace_step

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom")  # that is the fault

INF = float("inf")

SENTENCES = [
    (
        lambda x: x.exp(),
        "exp of 100 left the range of float32 (limit 3.4e+38); it does so above",
    ),
    (lambda x: (x / 8).half().exp(), "exp of 12.5 left the range of float16 (limit 6.55e+04); it"),
    (lambda x: (x * 1000).half().float(), "casting 1e+05 left the range of float16"),
    (lambda x: x.half() * 1000, "100 * 1000 = inf, outside the range of float16"),
    (lambda x: x * 0 * 1e39, "0 * 1e+39 (inf in float32) = nan"),
    (lambda x: x / (x - x), "100 / 0 = inf."),
    (lambda x: (x - x) / (x - x), "0 / 0 = nan."),
    (lambda x: (x - 100).log(), "log of 0 = -inf."),
    (lambda x: (-x).sqrt(), "sqrt of -100 = nan."),
    (lambda x: (x - 100) ** -2, "0 ** -2 = inf."),
    (lambda x: torch.add(x, x, alpha=1e38), "100 + 1e+38 * 100 = inf, outside"),
    (lambda x: x.masked_fill(x > 1, INF), "masked_fill wrote inf, as the code asked."),
    (lambda x: x[x > 1e3].mean(), "mean of no values: 0 / 0."),
    (lambda x: x[:1].std(), "std of one value: 0 / 0."),
    (lambda x: (x + torch.tensor(-INF)).softmax(-1), "softmax over 1 of 1 rows in which every"),
    (lambda x: (x.half() * 600).sum(), "sum of 2 values up to 6e+04 gave inf, outside the range"),
    (lambda x: (x * 1e36)[None] @ x[:, None], "a matrix product of values up to 1e+38 and 100"),
    (lambda x: torch.nn.functional.nll_loss(x, torch.tensor(-100)), "every label is ignored"),
]


@pytest.mark.parametrize(("compute", "sentence"), SENTENCES, ids=[s for _, s in SENTENCES])
def test_the_headline_says_what_happened_to_the_element(compute, sentence):
    x = torch.tensor([100.0, 100.0], requires_grad=True)
    report = trace_step(lambda x: compute(x).float().sum(), x)
    assert report.found
    assert sentence in report.headline


@pytest.mark.parametrize("operation", ["exp", "exp2", "expm1"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_advice_for_exp_is_finite_both_ways_in_the_format_it_names(operation, dtype):
    x = torch.tensor([2000.0], dtype=dtype, requires_grad=True)
    report = trace_step(lambda x: getattr(x, operation)().clamp(max=10).nan_to_num(), x)
    name = str(dtype).removeprefix("torch.")
    advice = re.search(rf"in {name} (x\.clamp\(.*\)\.{operation}\(\));", str(report)).group(1)
    value = eval(advice, {"x": x})
    value.backward()
    assert value.isfinite() and x.grad.isfinite(), advice
