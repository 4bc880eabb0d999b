"""Pairs that the length tells apart, beside replies that grow; and pairs that are only longer."""

import pytest

from tests.helpers.explained import first, keys

ROWS = [
    f"{{'loss': {0.66 - 0.03 * n:.3f}, 'rewards/chosen': {-0.05 * n:.3f}, 'rewards/rejected': "
    f"{-0.2 * n:.3f}, 'rewards/accuracies': 0.8{n}, 'rewards/margins': {0.15 * n:.3f}}}"
    for n in range(8)
]
IN_MOST = "chosen is longer than rejected in 91% of pairs"
TABLE = [
    "            win   LC win   avg len",
    "base        10.1    11.9      301",
    "step 100    20.3    12.0      512",
    "step 300    27.9    10.4      894",
]
FLAT_TABLE = [
    "            win   LC win   avg len",
    "base        10.1    11.9      301",
    "step 100    20.3    14.0      312",
    "step 300    27.9    19.4      320",
]


@pytest.mark.parametrize(
    "lines",
    [
        [IN_MOST, *ROWS, *TABLE],
        [
            "chosen avg 512 tokens / rejected avg 221 tokens",
            *ROWS,
            "reply length 301 -> 894 tokens",
        ],
        [
            ">>> (ds['len_chosen'] > ds['len_rejected']).mean()",
            "0.884",
            *ROWS,
            "mean tokens: 210 before, 640 after dpo",
        ],
        [IN_MOST, *ROWS, "SFT: 301 tokens on average", "DPO: 894 tokens on average"],
        [
            "'longer wins' alone gives 0.909 on the held out pairs",
            *ROWS,
            "accuracy where the shorter reply is better: 21%",
        ],
    ],
)
def test_pairs_told_apart_by_length_are_named(lines):
    one = first(*lines)
    assert one.key == "length_tells" and "balance" in one.fix and "longer" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        ["chosen is longer than rejected in 56% of pairs", *ROWS, *TABLE],
        [IN_MOST, *ROWS, *FLAT_TABLE],
        [IN_MOST, *ROWS],
        ["chosen avg 241 tokens, rejected avg 221 tokens", *ROWS, *TABLE],
        ["loss_type: simpo, simpo_gamma: 1.2", IN_MOST, *ROWS, *TABLE],
        ["max tokens of chosen 2048, of rejected 1024", *ROWS, *TABLE],
    ],
)
def test_even_pairs_and_replies_that_do_not_grow_are_not_accused(lines):
    assert "length_tells" not in keys(*lines)
