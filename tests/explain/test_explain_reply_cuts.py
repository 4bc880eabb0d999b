"""Replies that are cut out of generated rows, at the width of the batch or at a prompt's length."""

import pytest

from tests.helpers.explained import first

CODE = [
    "tokenizer.padding_side = 'left'",
    "batch = tokenizer(prompts, padding=True, return_tensors='pt').to(0)",
    "lens = batch.attention_mask.sum(dim=1)",
    "out = model.generate(**batch, max_new_tokens=64)",
    "replies = [tokenizer.decode(out[i][lens[i]:]) for i in range(len(out))]",
]


def test_rows_padded_on_the_left_are_cut_at_their_own_length():
    one = first(*CODE)
    assert one.key == "reply_cut_within_prompt" and "lens[i]" in one.for_it[1]


@pytest.mark.parametrize(
    "loop",
    [
        "texts = [tok.decode(o[n:]) for o, n in zip(out, lens)]",
        "for k, (o, n) in enumerate(zip(out, lens)): texts.append(tok.decode(o[n:]))",
    ],
)
def test_the_names_of_a_loop_are_followed(loop):
    assert first(*CODE[:-1], loop).key == "reply_cut_within_prompt"


def test_a_score_that_falls_with_the_batch_is_quoted():
    table = ["| bs | acc |", "| 1 | 61.2 |", "| 8 | 40.1 |", "| 32 | 27.9 |"]
    assert "61.2 in batches of 1, 27.9 in batches of 32" in first(*CODE, *table).for_it[-1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("out[i][lens[i]:]", "out[i][batch.input_ids.shape[1]:]"),
        ("batch.attention_mask.sum(dim=1)", "[len(ids) for ids in batch.input_ids]"),
        ("lens = batch.attention_mask.sum(dim=1)", "lens = [batch.input_ids.shape[1]] * len(out)"),
        ("'left'", "'right'"),
        ("out[i][lens[i]:]", "prompt_ids[i][lens[i]:]"),
        ("model.generate(**batch", "llm.sample(batch"),
    ],
)
def test_the_width_of_the_batch_is_the_right_place(old, new):
    assert first(*"\n".join(CODE).replace(old, new).split("\n")) is None
