"""Rows that begin with two start tokens, as ids, as text, or as code makes them."""

import pytest

from tests.helpers.explained import keys

RUN = [f"step {n} loss {1.9 - 0.05 * n:.3f}" for n in range(8)]
RENDER = "    text = tok.apply_chat_template(row['messages'], tokenize=False)"
ENCODE = "    ids = tok(text, truncation=True, max_length=2048)"
LONGER, SHORTER = "HF: len(enc.input_ids) = 58", '"usage": {"prompt_tokens": 57}'


@pytest.mark.parametrize(
    "lines",
    [
        ["train input_ids: [128000, 128000, 128006, 882]", *RUN],
        ["input_ids:", "decoded: <s><s>[INST] what is it [/INST]", *RUN],
        [RENDER, ENCODE, *RUN, LONGER, SHORTER],
        [
            "r['text'] = tok.apply_chat_template(m, tokenize=False)",
            "tok(r['text'])",
            *RUN,
            LONGER,
            SHORTER,
        ],
        [RENDER, "out = tokenizer.encode(text)", *RUN, "pos  id  nll", "  0  1  19.402 0.001"],
    ],
)
def test_two_start_tokens_are_seen_as_ids_as_text_and_in_code(lines):
    assert keys(*lines)[0] == "double_bos"


@pytest.mark.parametrize(
    "lines",
    [
        ["train input_ids: [128000, 128006, 882]", *RUN],
        ["checked: no <s><s> at the start of any row", *RUN],
        [
            RENDER,
            ENCODE.replace("truncation", "add_special_tokens=False, truncation"),
            *RUN,
            LONGER,
            SHORTER,
        ],
        [RENDER, ENCODE, *RUN, LONGER, SHORTER.replace("57", "58")],
        [RENDER, ENCODE, *RUN],
        ["ids = tok.apply_chat_template(m, tokenize=True)", *RUN, LONGER, SHORTER],
    ],
)
def test_rows_with_one_start_token_are_not_accused(lines):
    assert "double_bos" not in keys(*lines)
