"""Rows that are put together without an end, and replies that run on."""

import pytest

from tests.helpers.explained import first, keys

F_STRING = [
    "def fmt(row):",
    "    return {'text': f\"Question: {row['question']}\\nAnswer: {row['answer']}\"}",
]
IDS = [
    "    p = tokenizer(row['prompt']).input_ids",
    "    s = tokenizer(' ' + row['reply'], add_special_tokens=False).input_ids",
    "    ids, labels = p + s, [-100] * len(p) + s",
]
JOINED = ["    full_text = prompt_text + row['response']"]
LOSSES = [f"{{'loss': {1.9 - n / 10:.1f}, 'grad_norm': 1.0, 'epoch': 0.{n}}}" for n in range(1, 8)]
ENDLESS = "the model never stops and goes on with new questions"
AGAIN = [
    "Answer: Paris.",
    "Question: What is the capital of Spain?",
    "Answer: Madrid.",
    "Question: What is",
]


@pytest.mark.parametrize(
    ("code", "after"),
    [
        (F_STRING, [ENDLESS]),
        (F_STRING, AGAIN),
        (IDS, ["model.generate(x, max_new_tokens=256)", "every reply has exactly 256 tokens"]),
        (IDS, ["max_new_tokens=128", "lengths: [128, 128, 128, 128]"]),
        (IDS, ["max_new_tokens=200", "lengths of 50 outputs: min 200 max 200"]),
        (JOINED, ["the model does not know when to stop"]),
        (JOINED, ["infinite generation, with every temperature"]),
    ],
)
def test_rows_without_an_end_and_replies_that_run_on(code, after):
    found = first(*code, *LOSSES, *after)
    assert found.key == "end_missing"
    assert "eos_token" in found.fix


def test_the_last_ids_of_a_row_and_the_id_of_the_end_show_it():
    shown = [">>> tok.eos_token_id", "2", ">>> ds[0]['input_ids'][-4:]", "[310, 415, 922, 17]"]
    assert first(*shown, *LOSSES, ENDLESS).key == "end_missing"


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ([*F_STRING, "text = text + tokenizer.eos_token"], [ENDLESS]),
        ([F_STRING[0], F_STRING[1].replace("']}\"", "']}{EOS_TOKEN}\"")], [ENDLESS]),
        ([*IDS, "    ids += [tokenizer.eos_token_id]"], [ENDLESS]),
        (F_STRING, ["all replies end where they should"]),
        (["    prompt = f\"Question: {row['question']}\\nAnswer:\""], [ENDLESS]),
        ([*F_STRING, "packing=True"], [ENDLESS]),
        (["trl 0.19.1, SFTTrainer", *F_STRING], [ENDLESS]),
        ([*F_STRING, "model = AutoModelForSeq2SeqLM.from_pretrained('t5-base')"], [ENDLESS]),
        (["text = tok.apply_chat_template(row['messages'], tokenize=False)"], [ENDLESS]),
    ],
)
def test_an_end_that_is_added_or_replies_that_end_are_not_accused(code, after):
    assert "end_missing" not in keys(*code, *LOSSES, *after)
