"""Rows that a limit cuts before their end, and replies that do not end."""

import pytest

from tests.helpers.explained import keys

LIMIT = "cutoff_len: 2048"
RUN = [f"step {n} loss {1.1 - 0.02 * n:.3f}" for n in range(8)]
FULL = [f"step {n} loss {1.1 - 0.02 * n:.3f} tokens 8192" for n in range(8)]
FORTH = [f"step {n} loss {1.1 - 0.02 * n:.3f} tokens {5120 + 256 * n}" for n in range(8)]
LONG = 'finish_reason: "length" in 181 of 200'


@pytest.mark.parametrize(
    "lines",
    [
        [LIMIT, "Truncated 9,120 of 10,000 rows", *RUN, LONG],
        [LIMIT, "trace tokens: p50 6120, p95 15800", *RUN, "it never stops thinking in 9 of 10"],
        [LIMIT, "the longest sequence is 2048", *FULL[:7], FULL[7].replace("8192", "7310"), LONG],
        [
            LIMIT,
            "-rw-r--r-- 1 a a 310000000 May 2 10:00 t.jsonl",
            "$ wc -l t.jsonl",
            "10000",
            *RUN,
            LONG,
        ],
        ["sequence_len: 4096", "Traces are 7.9k tokens on average (p90 17k)", *RUN, LONG],
        [
            "max_seq_length=2048",
            "Eval: half of it runs on. Traces have p50 6.1k tokens.",
            *RUN,
            "404 of 500 generations never emit </think>",
        ],
        ["stage: sft", "84% of the rows are longer than 2048 tokens", *RUN, LONG],
        ["llamafactory-cli train r1.yaml", "rows over 2048 tokens: 84%", *RUN, LONG],
        ["SFTTrainer(model, args)", "(lens > 1024).mean()", "0.93", *RUN, LONG],
        [LIMIT, "8,800 of 9,000 rows are longer than the limit", *RUN, "no </think> in 180 of 200"],
    ],
)
def test_rows_that_reach_the_limit_have_lost_their_ends(lines):
    assert keys(*lines)[0] == "end_missing"


@pytest.mark.parametrize(
    "lines",
    [
        [LIMIT, "Truncated 120 of 10,000 rows", *RUN, LONG],
        [LIMIT, "trace tokens: p50 610, p95 1580", *RUN, LONG],
        [LIMIT, "packing: true", *FULL, LONG],
        [LIMIT, *FORTH, LONG],
        [LIMIT, "Truncated 9,120 of 10,000 rows", *RUN],
        [LIMIT, "rows that are too long are dropped: drop_long", "p50 6120 tokens", *RUN, LONG],
        [LIMIT, "completion tokens: mean 6120", *RUN, LONG],
        [LIMIT, "4% of the rows are longer than 2048 tokens", *RUN, LONG],
        [LIMIT, "84% of the rows are longer than 1024 tokens", *RUN, LONG],
        ["torchrun sft.py", "84% of the rows are longer than 2048 tokens", *RUN, LONG],
        [LIMIT, "84% of the outputs are longer than 2048 tokens", *RUN, LONG],
    ],
)
def test_short_rows_packed_rows_and_replies_that_end_are_not_accused(lines):
    assert "end_missing" not in keys(*lines)
