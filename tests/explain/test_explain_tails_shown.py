"""The ends of rows as they were decoded or counted, and replies that run on."""

import pytest

from tests.helpers.explained import first, keys

RUN = [
    f"step {50 * n} loss {0.67 - 0.02 * n:.3f} acc 0.7{n} margin {0.1 * n:.2f} chosen 0.0{n} "
    f"rejected -0.1{n}"
    for n in range(1, 7)
]
SFT = [f"step {50 * n} loss {1.3 - 0.05 * n:.3f}" for n in range(1, 9)]
LONG = "finish_reason: stop 98% before, length 93% after"
ASKED = '>>> tok.decode(ds[0]["{}"][-5:])'


@pytest.mark.parametrize(
    "lines",
    [
        [ASKED.format("chosen_ids"), "' at a hundred degrees.'", *RUN, LONG],
        [
            ">>> tok.convert_ids_to_tokens(batch['chosen_labels'][0])[-4:]",
            "['\u0120of', '\u0120the', '\u0120sea', '.']",
            *RUN,
            "since DPO it never stops",
        ],
        ["last tokens of chosen: ' of the old harbour.'", *RUN, "it never stops now"],
        ["chosen rows ending with 32007: 0 / 12044", *RUN, LONG],
        ['>>> sum(r["chosen_labels"][-1] == 32007 for r in ds), len(ds)', "(0, 9120)", *RUN, LONG],
    ],
)
def test_pairs_without_an_end_are_named(lines):
    one = first(*lines)
    assert one.key == "end_missing" and "both replies" in one.fix and "pairs" in one.says


def test_rows_of_another_training_are_named_as_well():
    one = first(ASKED.format("labels"), "' so it is forty-two.'", *SFT, "it never stops")
    assert one.key == "end_missing" and "each reply" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [ASKED.format("chosen_ids"), "' hundred degrees.<|im_end|>'", *RUN, LONG],
        [ASKED.format("chosen_ids"), "' at a hundred degrees.'", *RUN, "stop 98%, all is well"],
        [ASKED.format("prompt_ids"), "' how hot is it?'", *RUN, LONG],
        ['>>> tok.decode(out[0]["labels"][-5:])', "' hundred degrees.'", *RUN, LONG],
        ["chosen rows ending with 32007: 12044 / 12044", *RUN, LONG],
        ["0 of 300 replies end before the limit", *RUN, LONG],
    ],
)
def test_rows_with_an_end_prompts_and_outputs_are_not_accused(lines):
    assert "end_missing" not in keys(*lines)
