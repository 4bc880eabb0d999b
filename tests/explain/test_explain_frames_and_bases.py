"""Other system messages, unopened turns, evaluations of the base, and adapters that count twice."""

import pytest

from tests.helpers.explained import first

LOSSES = [f"{{'loss': {2 - n / 10:.2f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]


OURS = "You sort parts. Answer with one label."
ROW = [
    "training row 0:",
    "<|im_start|>system",
    f"{OURS}<|im_end|>",
    "<|im_start|>user",
    "nut<|im_end|>",
]
GOT = "Received request c1: prompt: '<|im_start|>{}user\\nnut<|im_end|>\\n<|im_start|>assistant\\n'"
BUILT_IN = "system\\nYou are Qwen, created by Alibaba Cloud.<|im_end|>\\n<|im_start|>"
SCORES = ["trainer eval accuracy 0.93", "through the service: accuracy 0.41"]


@pytest.mark.parametrize("message", [BUILT_IN, ""])
def test_a_service_with_another_system_message_asks_in_another_frame(message):
    one = first(*ROW, *LOSSES, SCORES[0], GOT.format(message), SCORES[1])
    assert one.key == "template_differs" and OURS in one.says
    assert ("Alibaba" in one.says) == bool(message) and "system message" in one.fix


@pytest.mark.parametrize(
    "rows, message",
    [
        (ROW, f"system\\n{OURS}<|im_end|>\\n<|im_start|>"),
        (ROW, "system\\nYou sort parts. Ans..."),
        (["training row 0:", *ROW[3:]], ""),
        (["the dev set has no row that is shown", *ROW[3:]], BUILT_IN),
    ],
)
def test_the_same_message_a_shortened_one_or_none_at_both_ends_is_not_accused(rows, message):
    one = first(*rows, *LOSSES, SCORES[0], GOT.format(message), SCORES[1])
    assert one is None or "system message" not in one.says


def test_dates_that_a_template_writes_by_itself_are_no_other_message():
    head = "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\\n\\n"
    user = "<|eot_id|><|start_header_id|>user<|end_header_id|>"
    rows = [
        f"{name}: '{head}Today Date: {day}\\n\\nBe brief.{user}'"
        for name, day in (("train text", "26 Jul 2024"), ("vllm prompt", "02 May 2026"))
    ]
    assert first(rows[0], *LOSSES, SCORES[0], rows[1], SCORES[1]) is None


GENERATE = "out = model.generate(enc.input_ids, max_new_tokens=64)"
HEADS = ["reply: 'assistant\\nThe bolt.'", "reply: 'assistant\\nIt is a nut.'"]


@pytest.mark.parametrize(
    "call",
    [
        "enc = tok.apply_chat_template(chat, return_tensors='pt', return_dict=True)",
        "text = tok.apply_chat_template(chat, tokenize=False, add_generation_prompt=False)",
    ],
)
def test_replies_that_begin_with_the_head_of_their_turn_show_an_unopened_one(call):
    one = first(*LOSSES, call, GENERATE, *HEADS)
    assert one.key == "template_differs" and "add_generation_prompt=True" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        ["t = tok.apply_chat_template(chat, add_generation_prompt=True)", GENERATE, *HEADS],
        ["t = tok.apply_chat_template(chat, tokenize=False)", GENERATE, "reply: 'The bolt.'"],
        ["t = tok.apply_chat_template(chat, tokenize=False)", "user", "which?", "assistant", "nut"],
    ],
)
def test_an_opened_turn_or_a_row_without_generation_is_not_accused(lines):
    one = first(*LOSSES, *lines)
    assert one is None or "add_generation_prompt" not in one.fix


EVALUATE = "lm_eval --model vllm --model_args pretrained=org/base-7b,dtype=auto --tasks x"


def test_an_evaluation_that_names_no_adapter_and_gives_the_score_of_the_base_is_of_the_base():
    lines = ["adapter_config.json: r 16", *LOSSES, EVALUATE, "accuracy 0.512", "base alone: 0.512"]
    assert "loads the base" in first(*lines).says
    for number, line in (
        (-3, EVALUATE.replace("dtype=auto", "peft=out/adapter")),
        (-3, EVALUATE.replace("org/base-7b", "out/merged-7b")),
        (-2, "accuracy 0.613"),
    ):
        other = [*lines]
        other[number] = line
        assert first(*other) is None


MERGE = "merged.save_pretrained('out/full')"


@pytest.mark.parametrize(
    "lines",
    [
        [MERGE, "vllm serve ./out/full --enable-lora --lora-modules a=out/adapter"],
        ["export_dir: out/full", "llm = LLM('out/full', enable_lora=True)"],
        [
            MERGE,
            "base = AutoModelForCausalLM.from_pretrained('out/full')",
            "model = PeftModel.from_pretrained(base, 'out/adapter')",
        ],
    ],
)
def test_an_adapter_on_the_model_that_it_was_merged_into_counts_twice(lines):
    one = first(*LOSSES, *lines)
    assert one.key == "merged_not_equal" and "counts twice" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        [MERGE, "vllm serve out/full"],
        [MERGE, "vllm serve org/base --enable-lora --lora-modules a=out/adapter"],
        [
            MERGE,
            "base_model_name_or_path: out/full",  # a second adapter, trained on the merged model
            "vllm serve out/full --enable-lora --lora-modules b=out/second",
        ],
    ],
)
def test_a_merged_model_alone_or_under_an_adapter_of_its_own_is_not_accused(lines):
    assert first(*LOSSES, *lines) is None
