"""The float formats agree with torch wherever torch knows the format. About 3 s, mostly import."""

import math

import matplotlib.pyplot as plt
import pytest
import torch

from course_utils.errors import BadRequest
from course_utils.numerics import draw_number_line, draw_numbers, float_format, format_table

KNOWN_TO_TORCH = ["float32", "bfloat16", "float16", "float8_e5m2", "float8_e4m3fn"]


@pytest.mark.parametrize("name", KNOWN_TO_TORCH)
def test_limits_derived_from_bits_are_those_of_finfo(name):
    fmt, finfo = float_format(name), torch.finfo(getattr(torch, name))
    derived = (fmt.bits, fmt.max, fmt.smallest_normal, fmt.eps)
    assert derived == (finfo.bits, finfo.max, finfo.smallest_normal, finfo.eps)


@pytest.mark.parametrize("name", KNOWN_TO_TORCH)
def test_smallest_subnormal_survives_a_cast_and_half_of_it_does_not(name):
    fmt = float_format(name)
    pair = torch.tensor([fmt.smallest_subnormal, fmt.smallest_subnormal / 2], dtype=torch.float64)
    cast = pair.to(getattr(torch, name)).double()
    assert cast.tolist() == [fmt.smallest_subnormal, 0.0]


@pytest.mark.parametrize("name", KNOWN_TO_TORCH)
def test_round_equals_torchs_cast_bit_for_bit(name):
    torch.manual_seed(0)
    fmt = float_format(name)
    decades = torch.empty(20_000).uniform_(-50, 45)
    edges = torch.tensor([0.0, math.inf, -math.inf, fmt.max, fmt.smallest_normal])
    ties = fmt.smallest_normal * (1 + fmt.eps * (torch.arange(32) / 2))
    x = torch.cat([torch.randn(20_000) * 10**decades, edges, ties, torch.randn(20_000) * fmt.max])
    expected = x.to(getattr(torch, name)).float()
    assert torch.equal(fmt.round(x), expected)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_ulp_is_the_distance_to_torchs_next_number(name):
    fmt, dtype = float_format(name), getattr(torch, name)
    for x in (0.0, fmt.smallest_subnormal * 3, 1.0, 1.5, 2.0, 1000.0, 65000.0):
        here = torch.tensor(x, dtype=dtype)
        gap = torch.nextafter(here, torch.tensor(math.inf, dtype=dtype)).double() - here.double()
        assert gap == fmt.ulp(float(here))


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "float8_e5m2"])
def test_exp_is_finite_at_its_limit_and_inf_at_the_next_number(name):
    fmt, dtype = float_format(name), getattr(torch, name)
    limit = torch.tensor(fmt.max_exp_input, dtype=torch.float64)
    beyond = limit + fmt.ulp(fmt.max_exp_input)
    assert limit.to(dtype).double() == limit  # it is a number of the format
    assert limit.exp().to(dtype).float().isfinite() and beyond.exp().to(dtype).float().isinf()


def test_exp_in_float32_itself_overflows_where_the_format_says():
    fmt = float_format("float32")
    limit = torch.tensor(fmt.max_exp_input)
    assert limit.exp().isfinite()
    assert torch.nextafter(limit, torch.tensor(math.inf)).exp().isinf()


def test_tf32_has_float32s_range_and_float16s_precision():
    tf32, fp32, fp16 = map(float_format, ("tf32", "fp32", "fp16"))
    assert (tf32.smallest_normal, tf32.max_exponent) == (fp32.smallest_normal, fp32.max_exponent)
    assert tf32.eps == fp16.eps and tf32.bits == 19
    mantissa_10 = torch.rand(10_000) + 1  # in [1, 2): no exponent is needed, so fp16 must agree
    assert torch.equal(tf32.round(mantissa_10), mantissa_10.half().float())


def test_the_largest_ulp_ends_where_the_format_ends():
    fp16 = float_format("fp16")
    assert (fp16.ulp(65504), fp16.overflow_at, fp16.ulp(65505)) == (32.0, 65520.0, math.inf)
    assert (fp16.round(65519.9), fp16.round(-65520.0)) == (65504.0, -math.inf)
    assert math.isnan(fp16.ulp(math.nan)) and math.isnan(fp16.round(math.nan))


def test_adams_epsilon_vanishes_in_float16_only():
    survivors = [name for name in KNOWN_TO_TORCH[:3] if float_format(name).round(1e-8) > 0]
    assert survivors == ["float32", "bfloat16"]


@pytest.mark.parametrize("alias", ["bf16", "BF16", "torch.bfloat16", torch.bfloat16])
def test_a_format_answers_to_its_usual_names(alias):
    assert float_format(alias) is float_format("bfloat16")


def test_an_unknown_format_is_refused_with_the_known_ones():
    with pytest.raises(BadRequest, match="no float format 'int8' here"):
        float_format("int8")


def test_the_table_lists_all_formats_and_float16s_limit():
    table = format_table()
    assert [row[0] for row in table.rows] == [*KNOWN_TO_TORCH[:1], "tf32", *KNOWN_TO_TORCH[1:]]
    assert "65504" in format_table("half").text()


def test_the_number_line_names_the_widest_and_the_narrowest_format():
    _, ax = plt.subplots()
    draw_number_line(ax, ("bf16", "fp16"))
    assert ax.get_title() == "bfloat16 spans 76 decades, float16 9"
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([0.5, 0.15] * 2)
    plt.close()


def test_the_ticks_of_a_format_are_its_numbers():
    _, ax = plt.subplots()
    draw_numbers(ax, ("fp16", "bf16"), low=1000, high=1020)
    ticks = [line.get_positions() for line in ax.collections]
    assert ticks[0][:3] == [1000.0, 1000.5, 1001.0] and ticks[1] == [
        1000,
        1004,
        1008,
        1012,
        1016,
        1020,
    ]
    assert ax.get_title() == "From 1000 to 1020: 41 numbers in float16, 6 in bfloat16"
    plt.close()
