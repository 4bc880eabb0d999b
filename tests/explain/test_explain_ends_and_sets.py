"""An end behind one reply of a pair, sets that are read one after the other: beside their twins."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain


def said(words: str, text: list[str], entries: list[str]) -> bool:
    causes = explain("\n".join([*text, *entries]) + "\n").causes
    return any(words in one.says for one in causes)


GOOD = '    yes = tokenizer(chat(row["chosen"]) + tokenizer.eos_token, truncation=True)'
BAD = '    no = tokenizer(chat(row["rejected"]), truncation=True)'
PERFECT = [*map(json.dumps, rows(6, loss=lambda n: 0.6 / 4**n)), '{"eval_accuracy": 1.0}']
ENDED = "puts the end token behind"


def test_an_end_behind_the_chosen_reply_alone_is_named():
    one = explain("\n".join([GOOD, BAD, *PERFECT]) + "\n").causes[0]
    assert one.key == "ending_tells" and "behind chosen and not behind rejected" in one.says


def test_so_is_one_behind_the_rejected_reply_alone():
    bare = GOOD.replace(" + tokenizer.eos_token", "")
    ended = BAD.replace(")", ' + "</s>")', 1).replace(' + "</s>"), trunc', ') + "</s>", trunc')
    assert said("behind rejected and not behind chosen", [bare, ended], PERFECT)


@pytest.mark.parametrize(
    "code",
    [
        [GOOD, BAD.replace('["rejected"])', '["rejected"]) + tokenizer.eos_token')],
        [GOOD.replace(" + tokenizer.eos_token", ""), BAD],
        [GOOD],
        ['    text = row["chosen"] + tokenizer.eos_token if row["rejected"] else ""'],
    ],
)
def test_an_end_behind_both_or_neither_is_not(code):
    assert not said(ENDED, code, PERFECT)


SETS = ["data_files: a/letters.json", "data_files: a/code.json", "shuffle: False"]
SAW = [2.0, 1.6, 1.2, 1.0, 0.6, 0.5, 1.9, 1.5, 1.1, 0.9, 0.5, 0.4, 1.7, 1.4]
JUMPS = list(map(json.dumps, rows(len(SAW), loss=lambda n: SAW[n], learning_rate=1e-4)))


def test_a_loss_that_jumps_where_the_next_set_begins_is_named_with_the_sets():
    one = explain("\n".join([*SETS, *JUMPS]) + "\n").causes[0]
    assert one.key == "rows_in_order" and "one after the other" in one.says
    assert "2 data sets are named" in one.for_it


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ([*SETS[:2], "shuffle: True"], JUMPS),
        ([SETS[0], SETS[2]], JUMPS),
        (SETS, [*map(json.dumps, rows(14, loss=lambda n: 2 - n / 10, learning_rate=1e-4))]),
    ],
)
def test_shuffled_one_set_or_a_loss_that_falls_is_not(text, entries):
    assert not said("one after the other", text, entries)


TRAINED = ["training example:", "[INST] Read the order. [/INST] {}</s>"]
SENT = 'vllm: Received request: prompt: "<|im_start|>system\\nYou are helpful.<|im_end|>\\n ...'


def test_a_prompt_of_a_server_whose_quote_is_cut_is_read():
    entries = list(map(json.dumps, rows(6, loss=lambda n: 1 - n / 10, learning_rate=1e-4)))
    assert said("the prompt of the service is laid out as <|im_start|>", [*TRAINED, SENT], entries)
