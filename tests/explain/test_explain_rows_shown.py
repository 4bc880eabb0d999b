"""Rows that are run or shown one by one, labels that are text by their type, and words of a reply
that are no standstill."""

import pytest

from tests.helpers.explained import first

LEARNS = [
    f"{{'loss': {2 - n / 10:.4f}, 'grad_norm': 1.{n}, 'learning_rate': 2e-5, 'epoch': 0.{n}}}"
    for n in range(1, 9)
]
NAN = "{'eval_loss': nan, 'eval_runtime': 9.1, 'epoch': 0.8}"
ROWS = [
    "ex 11 | prompt_tokens=210 | len=231 | n_labels=21 | loss=0.9112",
    "ex 12 | prompt_tokens=2210 | len=2048 | n_labels=0 | loss=nan",
    "ex 13 | prompt_tokens=1700 | len=1733 | n_labels=33 | loss=1.2031",
    "ex 14 | prompt_tokens=90 | len=101 | n_labels=11 | loss=0.4417",
]


def test_rows_without_a_label_are_those_that_are_nan():
    one = first(*LEARNS, NAN, *ROWS, "nan: 31 of 250")
    assert one.key == "labels_masked" and "2048" in one.says and "2210" in one.says
    assert any("31 of 250" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n_labels=33 | loss=1.2031", "n_labels=33 | loss=nan"),
        ("n_labels=0 | loss=nan", "n_labels=0 | loss=0.0"),
        ("n_labels=0 | loss=nan", "n_labels=8 | loss=nan"),
    ],
)
def test_a_nan_that_does_not_go_with_the_labels_is_not_laid_to_them(old, new):
    one = first("\n".join([*LEARNS, NAN, *ROWS]).replace(old, new))
    assert one is None or "0 / 0: the rows" not in one.says


def test_a_short_row_without_a_label_is_not_said_to_be_cut():
    rows = "\n".join(ROWS).replace("len=2048", "len=340").replace("2210", "330")
    one = first(*LEARNS, NAN, rows)
    assert one.key == "labels_masked" and "They are cut" not in one.says


PAIRS = [
    f"{{'loss': {0.69 - n / 50:.4f}, 'rewards/chosen': -0.{n}, 'rewards/rejected': -0.{n + 1}, "
    f"'rewards/margins': 0.1, 'rewards/accuracies': 0.6, 'logps/chosen': -41{n}.0, 'epoch': 0.{n}}}"
    for n in range(1, 9)
]
SHOWN = [
    ">>> tok.decode(ds[0]['chosen_input_ids'])",
    "'<bos>Which bus goes to the harbour?<start_of_turn>user\\nWhich bus goes to the harbour?"
    "<end_of_turn>\\n<start_of_turn>model\\nThe 42, every ten minutes.<end_of_turn>'",
]


def test_a_row_with_the_question_twice_before_the_answer():
    one = first(*SHOWN, *PAIRS)
    assert one.key == "prompt_twice" and "Which bus goes to the harbour" in one.says
    assert "all messages but the last" in one.fix


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<bos>Which bus goes to the harbour?", "<bos>"),
        ("<bos>Which bus goes to the harbour?", "<bos>Answer in one sentence, please."),
        ("tok.decode(ds[0]['chosen_input_ids'])", "tok.decode(model.generate(**b)[0])"),
    ],
)
def test_a_question_that_stands_once_or_a_reply_is_no_prompt_twice(old, new):
    assert first("\n".join([*SHOWN, *PAIRS]).replace(old, new)) is None


def test_a_reply_that_leaves_a_text_as_it_is_is_no_prompt_twice():
    shown = [
        ">>> tok.decode(train[0]['input_ids'])",
        "'<s>[INST] She walks to the harbour. [/INST] She walks to the harbour.</s>'",
    ]
    assert first(*shown, *LEARNS) is None


KTO = [f"{{'loss': 0.{50 - n}, 'rewards/chosen': 0.{n}, 'kl': 0.1}}" for n in range(1, 8)]
CODE = "rows = rows.map(lambda r: {'label': bool(r['liked'])})"
TYPES = "features: {'prompt': Value('string'), 'liked': Value('string')}"


def test_a_column_of_text_by_its_type_is_always_true():
    one = first(TYPES, "values: {'no': 311, 'yes': 290}", CODE, *KTO)
    assert one.key == "labels_constant" and 'bool("no")' in one.says


def test_a_text_that_is_asked_whether_it_is_empty_is_no_label():
    row = "{'prompt': 'is it so?', 'answers': ['no', 'yes'], 'note': ''}"
    code = "rows = rows.map(lambda r: {'has_note': bool(r['note'])})"
    assert first(TYPES.replace("liked", "note"), row, code, *KTO) is None


@pytest.mark.parametrize("kind", ["bool", "int64"])
def test_a_column_of_numbers_may_be_made_a_boolean(kind):
    types = TYPES.replace("'liked': Value('string')", f"'liked': Value('{kind}')")
    assert first(types, "values: {'no': 311, 'yes': 290}", CODE, *KTO) is None
