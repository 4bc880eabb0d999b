"""What a reward pays too often, replies without an end, two pad tokens, an encoder that collapsed,
a question handed over as it is: each beside its twin."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain


def causes(text: list[str], **columns):
    return explain("\n".join([*text, *map(json.dumps, rows(9, **columns))]) + "\n").causes


def says(words: str, text: list[str], **columns) -> bool:
    return any(words in one.says for one in causes(text, **columns))


MARKS = "    r = sum(0.25 * text.count(mark) for mark in MARKS)"
PAID = {
    "rewards/form/mean": lambda n: 0.5 + n,
    "rewards/right/mean": lambda n: 0.8 - 0.08 * n,
    "reward": lambda n: 1.3 + 0.92 * n,
    "reward_std": 0.4,
    "kl": 0.02,
}


def test_a_mark_that_is_paid_each_time_and_outgrows_the_rest_is_named():
    one = causes([MARKS], **PAID)[0]
    assert one.key == "reward_pays_junk" and "each time that it is written" in one.says


@pytest.mark.parametrize(
    ("code", "columns"),
    [
        (MARKS.replace("sum(0.25", "min(1.0, sum(0.25") + ")", PAID),
        (MARKS.replace("for mark", "if text.count(mark) == 1 for mark"), PAID),
        (MARKS, PAID | {"rewards/right/mean": lambda n: 0.3 + 0.05 * n}),
        (MARKS, PAID | {"rewards/form/mean": lambda n: 0.5 + 0.05 * n}),
    ],
)
def test_a_mark_with_a_limit_or_beside_a_right_answer_that_grows_is_not(code, columns):
    assert not says("each time that it is written", [code], **columns)


FOUND = ["    numbers = re.findall(r'\\d+', text)", "    return 1.0 if gold in numbers else 0.0"]
LONGER = {
    "reward": lambda n: 0.3 + 0.06 * n,
    "completions/mean_length": lambda n: 100 + 40 * n,
    "reward_std": 0.3,
    "kl": 0.01,
}


def test_an_answer_that_is_paid_among_all_numbers_is_named():
    assert says("has the right answer anywhere in it", FOUND, **LONGER)


@pytest.mark.parametrize("code", ["    return float(numbers[-1] == gold)", "    n = len(numbers)"])
def test_the_last_number_or_a_count_of_one_is_not(code):
    assert not says("anywhere in it", [FOUND[0], code], **LONGER)


@pytest.mark.parametrize(
    "told",
    [
        "Of 512 samples in that step, 401 have no `</think>`.",
        "401 of 512 responses without a closing tag",
        "401 out of the 512 completions never write \\boxed",
    ],
)
def test_replies_that_are_counted_without_an_end_are_cut_at_the_limit_that_is_set(told):
    text = ["max_new_tokens: 900", told]
    one = causes(text, reward=0.1, response_length=lambda n: 800 + n, kl=0.01, reward_std=0.2)[0]
    assert one.key == "replies_cut" and "401 of 512" in one.says


@pytest.mark.parametrize(
    ("text", "length"),
    [
        (["max_new_tokens: 900", "Of 512 samples, 61 have no `</think>`."], 800),
        (["max_new_tokens: 9000", "Of 512 samples, 401 have no `</think>`."], 800),
        (["Of 512 samples, 401 have no `</think>`."], 800),
    ],
)
def test_few_or_without_a_limit_that_is_near_they_are_not(text, length):
    columns = {"reward": 0.1, "response_length": length, "kl": 0.01, "reward_std": 0.2}
    assert not says("before they end", text, **columns)


THINKS = ["model_name: deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "max_response_length=512"]
POOR = {"reward": 0.03, "reward_std": 0.1, "kl": 0.01, "response_length": lambda n: 490 + n}
FILLS_IT = "thinks for thousands of tokens"


def test_a_model_that_thinks_long_and_fills_a_small_limit_from_the_start_is_cut_by_it():
    one = causes(THINKS, **POOR)[0]
    assert one.key == "replies_cut" and FILLS_IT in one.says


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ([THINKS[0], "max_response_length=16384"], POOR),
        (["model_name: Qwen/Qwen2.5-7B-Instruct", THINKS[1]], POOR),
        (THINKS, POOR | {"reward": 0.6}),
        (THINKS, POOR | {"response_length": lambda n: 150 + n}),
    ],
)
def test_with_room_another_model_a_fair_reward_or_short_replies_it_is_not(text, columns):
    assert not says(FILLS_IT, text, **columns)


CLASSIFIER = "model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=4)"
LEARNS = {"loss": lambda n: 1.4 - n / 10, "grad_norm": 2.0, "learning_rate": 2e-5}
ASKED = ">>> tokenizer.pad_token_id, model.config.pad_token_id"


@pytest.mark.parametrize(
    "shown", [[ASKED, "(0, 2)"], ["tokenizer.pad_token_id: 0", "model.config.pad_token_id: 2"]]
)
def test_two_pad_tokens_of_a_classifier_are_named_with_both_numbers(shown):
    one = causes([CLASSIFIER, *shown], **LEARNS)[0]
    assert one.key == "rows_pooled_wrong" and "(2)" in one.says and "with 0" in one.says


@pytest.mark.parametrize(
    "text",
    [
        [CLASSIFIER, ASKED, "(2, 2)"],
        [CLASSIFIER.replace("SequenceClassification", "CausalLM"), ASKED, "(0, 2)"],
        [CLASSIFIER, "tokenizer.padding_side = 'left'", ASKED, "(0, 2)"],
    ],
)
def test_one_pad_token_another_head_or_padding_on_the_left_is_not(text):
    assert not says("looks for the first padding", text, **LEARNS)


SAME = ["tensor([[0.12, -0.34, 0.05, 0.11],", "        [0.12, -0.34, 0.05, 0.11]])"]
AT_A_GUESS = {
    "loss": lambda n: 1.3866 + 0.001 * (n % 2),
    "eval_loss": lambda n: 1.3863 + 0.0005 * (n % 3),
    "eval_accuracy": 0.25,
    "grad_norm": 2.0,
    "learning_rate": 1e-4,
}


def test_logits_that_are_the_same_for_all_texts_and_a_high_rate_are_a_collapsed_encoder():
    one = causes([CLASSIFIER, *SAME], **AT_A_GUESS)[0]
    assert one.key == "rate_too_high" and "same logits" in one.says


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ([CLASSIFIER, *SAME], 1e-5),
        ([CLASSIFIER, "peft_config = LoraConfig(r=8)", *SAME], 1e-4),
        ([CLASSIFIER, SAME[0], SAME[1].replace("0.11]", "0.42]")], 1e-4),
    ],
)
def test_a_usual_rate_an_adapter_or_logits_that_differ_are_not(text, rate):
    assert not says("same logits", text, **AT_A_GUESS | {"learning_rate": rate})


TRAINED = ["one row:", "<|im_start|>user Can I pay later?<|im_end|><|im_start|>assistant Yes"]
HANDED = ['ask = "Can I pay later this year?"', "out = llm.generate([ask], sampling)"]
RUNS_ON = "finish_reason is 'length' each time"


def test_a_question_that_is_handed_over_as_it_is_reaches_the_model_in_another_form():
    assert says("prompt of the service is bare text", [*TRAINED, *HANDED, RUNS_ON], **LEARNS)


@pytest.mark.parametrize(
    "handed",
    [
        [HANDED[0], "ask = tok.apply_chat_template(turns(ask), tokenize=False)", HANDED[1]],
        ['ask = "<|im_start|>user Can I pay later?<|im_end|>"', HANDED[1]],
        [HANDED[0], "out = llm.chat(turns(ask), sampling)"],
    ],
)
def test_with_a_template_or_marks_of_turns_it_does_not(handed):
    assert not says("bare text", [*TRAINED, *handed, RUNS_ON], **LEARNS)


def test_numbers_of_blocks_that_grow_to_inf_in_one_list_leave_the_range_of_float16():
    text = ["torch_dtype=torch.float16", "['210', '1840', '9920', '31000', '60100', 'inf', 'nan']"]
    one = causes(text, loss=0.0, grad_norm=float("nan"))[0]
    assert one.key == "fp16_overflow" and "60100" in one.says
