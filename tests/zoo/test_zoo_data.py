"""The tokenizer and the sums: the properties that lessons rely on (3 s)."""

import pytest

from course_utils.errors import BadRequest
from course_utils.zoo import arithmetic, load_tokenizer
from course_utils.zoo.tokenizer import build_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("tiny")


def question(row):
    return row["prompt"][0]["content"]


def total(text):
    return sum(map(int, text.rstrip("=").split("+")))


def test_id_0_is_an_exclamation_mark_and_bytes_stand_in_gpt2_order(tokenizer):
    printable = [chr(code) for code in range(ord("!"), ord("~") + 1)]
    assert tokenizer.convert_ids_to_tokens(range(len(printable))) == printable
    assert tokenizer.decode([0, 0, 0]) == "!!!"


def test_every_digit_is_one_token(tokenizer):
    assert tokenizer.tokenize("1234567890+99=") == list("1234567890+99=")


@pytest.mark.parametrize("text", ["17+25=", "What is the sum?", "naïve 東京 🙂\n\n  two  spaces"])
def test_any_text_survives_encoding(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_the_chat_template_makes_chatml_and_comes_back(tokenizer):
    messages = [{"role": "user", "content": "1+2="}, {"role": "assistant", "content": "3"}]
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    ids = tokenizer.apply_chat_template(messages)["input_ids"]
    assert text == "<|im_start|>user\n1+2=<|im_end|>\n<|im_start|>assistant\n3<|im_end|>\n"
    assert tokenizer.decode(ids) == text


def test_the_generation_prompt_is_a_prefix_of_the_answered_chat(tokenizer):
    messages = [{"role": "user", "content": "1+2="}, {"role": "assistant", "content": "3"}]
    asked = tokenizer.apply_chat_template(messages[:1], add_generation_prompt=True)["input_ids"]
    answered = tokenizer.apply_chat_template(messages)["input_ids"]
    assert answered[: len(asked)] == asked


def test_building_the_tokenizer_gives_the_shipped_one(tokenizer):
    assert build_tokenizer().get_vocab() == tokenizer.get_vocab()
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|endoftext|>")


@pytest.mark.parametrize("make", [arithmetic.prompts, arithmetic.preferences])
def test_a_set_is_a_function_of_its_seed(make):
    assert make(50, 3).to_list() == make(50, 3).to_list()
    assert make(50, 3).to_list() != make(50, 4).to_list()


@pytest.mark.parametrize("level", arithmetic.NUM_ADDENDS)
def test_answers_are_the_sums_and_no_sum_comes_twice(level):
    rows = arithmetic.prompts(300, 0, level=level).to_list()
    assert all(str(total(question(row))) == row["answer"] for row in rows)
    assert len({question(row) for row in rows}) == 300


def test_no_training_sum_is_a_held_out_sum_in_another_order():
    train, test = (
        {
            tuple(sorted(question(row)[:-1].split("+")))
            for row in arithmetic.prompts(n, 1, split=split)
        }
        for n, split in [(5000, "train"), (500, "test")]
    )
    assert len(test) > 100 and train.isdisjoint(test)


@pytest.mark.parametrize("level", arithmetic.NUM_ADDENDS)
@pytest.mark.parametrize("kind", arithmetic.SPOILERS)
def test_chosen_is_right_and_rejected_is_another_number(level, kind):
    for row in arithmetic.preferences(300, 0, level=level, rejected=kind):
        answer = str(total(question(row)))
        chosen, rejected = row["chosen"][0]["content"], row["rejected"][0]["content"]
        assert chosen == answer and not arithmetic.is_right(rejected, answer)
        assert str(int(rejected)) == rejected


def test_pairs_without_chat_hold_the_same_texts():
    chat, bare = (
        arithmetic.preferences(20, 0, rejected="guess", chat=chat) for chat in (True, False)
    )
    contents = [{name: messages[0]["content"] for name, messages in row.items()} for row in chat]
    assert contents == list(bare)


def test_a_wrong_digit_leaves_the_other_digits():
    for row in arithmetic.preferences(300, 0, rejected="digit"):
        pair = zip(row["chosen"][0]["content"], row["rejected"][0]["content"], strict=True)
        assert sum(right != wrong for right, wrong in pair) == 1


@pytest.mark.parametrize("reply", ["42", "The sum is 42.", "17+25=42", "42!!"])
def test_a_right_reply_is_right_whatever_surrounds_it(reply):
    assert arithmetic.is_right(reply, "42")


@pytest.mark.parametrize("reply", ["", "!!!!!!!!", "43", "142", "420", "4 2", "042", "42, no 43"])
def test_a_wrong_reply_is_wrong(reply):
    assert not arithmetic.is_right(reply, "42")


def test_the_reward_function_pairs_replies_with_answers():
    completions = [[{"role": "assistant", "content": text}] for text in ("3", "!!", "5")]
    assert arithmetic.correct_sum(completions, ["3", "4", "5"], prompts=None) == [1.0, 0.0, 1.0]


def test_an_unknown_level_or_kind_names_those_that_exist():
    with pytest.raises(BadRequest, match=r"'medium' does not exist[\s\S]*easy, hard"):
        arithmetic.prompts(1, 0, level="medium")
    with pytest.raises(BadRequest, match=r"'typo' do not exist[\s\S]*digit, guess"):
        arithmetic.preferences(1, 0, rejected="typo")


def test_too_many_sums_are_refused_and_the_largest_number_is_met():
    with pytest.raises(BadRequest, match=r"901 different easy sums.*gives 900"):
        arithmetic.prompts(901, 0, split="test")
    assert len(arithmetic.prompts(900, 0, split="test")) == 900
