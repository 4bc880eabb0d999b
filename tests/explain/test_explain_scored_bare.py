"""A reward model that is scored without the template it learnt in, and scoring that has it."""

import pytest

from tests.helpers.explained import first, keys

ROWS = [f"{{'loss': {0.66 - 0.03 * n:.4f}, 'learning_rate': 9e-06}}" for n in range(6)]
GOOD = "{'eval_loss': 0.44, 'eval_accuracy': 0.8032, 'epoch': 1.0}"
TRAINED = "python -m openrlhf.cli.train_rm --apply_chat_template --dataset prefs"
ROW = "train sample 0: '<|im_start|>user\\nWhy?<|im_end|>\\n<|im_start|>assistant\\nSo.<|im_end|>'"
LOADS = "rm = AutoModelForSequenceClassification.from_pretrained(path, num_labels=1)"
LOW = "print(acc)   # 0.574"
JOINED = [
    ["x = tok(p + c, return_tensors='pt')", "r = rm(**x).logits[0, 0]"],
    ['text = f"Question: {q}\\nAnswer: {a}"', "r = rm(**tok(text)).logits[0, 0]"],
    ["x = tokenizer([q + a for q, a in pairs], padding=True)", "s = rm(**x).logits"],
    ["s = rm(**tok(question, answer, return_tensors='pt')).logits"],
]
RENDERED = [
    ["x = tok(tok.apply_chat_template(msgs, tokenize=False))", "r = rm(**x).logits"],
    ['x = tok("<|im_start|>user\\n" + q + "<|im_start|>assistant\\n" + a)', "r = rm(**x).logits"],
    ["x = tok(text)", "r = rm(**x).logits"],
]


@pytest.mark.parametrize("code", JOINED)
@pytest.mark.parametrize("trained", [TRAINED, ROW])
def test_scoring_without_the_template_is_named(trained, code):
    one = first(trained, *ROWS, GOOD, LOADS, *code, LOW)
    assert one.key == "template_differs" and "apply_chat_template" in one.fix
    assert "reward model" in one.says


@pytest.mark.parametrize("code", RENDERED)
def test_scoring_in_the_template_is_not_accused(code):
    assert "template_differs" not in keys(TRAINED, *ROWS, GOOD, LOADS, *code, LOW)


@pytest.mark.parametrize(
    "lines",
    [
        [*ROWS, GOOD, LOADS, *JOINED[0], LOW],  # how it was trained is not told
        [TRAINED, *ROWS, GOOD, LOADS, *JOINED[0], "print(acc)   # 0.798"],
        [TRAINED, *ROWS, LOADS, *JOINED[0], LOW],
        [TRAINED, *ROWS, GOOD, "out = model.generate(**tok(p + c)).scores", LOW],
    ],
)
def test_without_a_template_or_a_fall_nothing_is_said(lines):
    assert "template_differs" not in keys(*lines)
