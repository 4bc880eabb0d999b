"""Prompts at inference that are not those of the training, and replies cut out by characters."""

import pytest

from tests.helpers.explained import first

LOSSES = [f"{{'loss': {2 - n / 10:.2f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]


RENDER = "p = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)"
DECODE = "full = tokenizer.decode(gen[0], skip_special_tokens=True)"


@pytest.mark.parametrize(
    "lines",
    [
        [RENDER, DECODE, "answer = full[len(p):]", "answer=''"],
        [
            "prompts = [tok.apply_chat_template(m, tokenize=False) for m in chats]",
            "texts = tok.batch_decode(out, skip_special_tokens=True)",
            "for p, t in zip(prompts, texts):",
            "    outs.append(t[len(p):].strip())",
        ],
        [
            "prompt = '<|im_start|>user\\n' + q + '<|im_end|>\\n<|im_start|>assistant\\n'",
            "text = tok.decode(model.generate(**enc)[0], skip_special_tokens=True)",
            "print(text[len(prompt):])",
        ],
        [
            "  12   " + RENDER,
            "  13   " + DECODE,
            "  14   row['pred'] = full[len(p) : ]",
        ],
    ],
)
def test_a_text_without_marks_is_cut_at_the_length_of_one_with_them(lines):
    one = first(*LOSSES, *lines)
    assert one.key == "reply_cut_within_prompt" and "too late" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        [RENDER, DECODE.replace("True", "False"), "answer = full[len(p):]"],
        [RENDER, "t = tokenizer.decode(gen[0][n:], skip_special_tokens=True)", "a = t[len(p):]"],
        [
            "p = 'Question: ' + q + ' Answer:'",
            DECODE,
            "answer = full[len(p):]",
        ],
        [RENDER, DECODE, "plain = strip_marks(p)", "answer = full[len(plain):]"],
    ],
)
def test_texts_that_both_have_their_marks_or_none_are_not_accused(lines):
    assert first(*LOSSES, *lines) is None


@pytest.mark.parametrize(
    "trained, served",
    [
        (
            "train rows, prompt tokens: min 310 mean 352.1 p95 480 max 900",
            "eval.py, prompt tokens: min 102 mean 143.0 p95 271 max 700",
        ),
        (
            "train prompt length  min=520 median=560 p90=640",
            "[vllm server] prompt length  min=31 median=70 p90=151",
        ),
    ],
)
def test_prompts_that_all_lack_as_many_tokens_are_of_another_frame(trained, served):
    one = first("system_prompt: prompts/agent.md", trained, *LOSSES, served, "accuracy 0.21")
    assert one.key == "template_differs" and "system message" in one.says
    assert "system" in one.fix


@pytest.mark.parametrize(
    "trained, served",
    [
        (  # other rows: the statistics are apart by other numbers
            "train rows, prompt tokens: min 310 mean 352.1 p95 480 max 900",
            "eval.py, prompt tokens: min 12 mean 243.0 p95 401 max 700",
        ),
        (
            "train rows, prompt tokens: min 310 mean 352.1 p95 480 max 900",
            "eval.py, prompt tokens: min 310 mean 350.8 p95 482 max 880",
        ),
        (  # replies, not prompts
            "train rows, reply tokens: min 310 mean 352.1 p95 480 max 900",
            "eval.py, reply tokens: min 102 mean 143.0 p95 271 max 700",
        ),
    ],
)
def test_prompts_of_other_rows_are_not_accused(trained, served):
    one = first("system_prompt: prompts/agent.md", trained, *LOSSES, served, "accuracy 0.21")
    assert one is None or one.key != "template_differs"


def test_two_start_tokens_at_inference_alone_are_told_from_two_in_the_rows():
    lines = [
        "train_ds[0]['input_ids'][:8]",
        "  [2, 105, 2364, 107, 3689, 563, 506, 4881]",
        *LOSSES,
        "what my server script feeds, input_ids[:8]",
        "  [0, 0, 2, 2, 105, 2364, 107, 3689]",
        "  [2, 2, 105, 2364, 107, 3689, 563, 506]",
    ]
    one = first(*lines)
    assert one.key == "double_bos" and "at inference" in one.says and "train again" not in one.fix
    lines[-1], lines[-2] = (
        "  [2, 105, 2364, 107, 3689, 563, 506, 4881]",
        "  [0, 0, 0, 2, 105, 2364]",
    )
    assert first(*lines) is None


def test_padding_with_the_id_of_a_start_is_no_second_start():
    lines = [
        "train ids",
        "[1, 518, 25580, 29962, 3750]",
        "batch ids",
        "[2, 2, 1, 518, 25580, 29962]",
    ]
    assert first(*lines, *LOSSES) is None


@pytest.mark.parametrize(
    "got",
    [
        "INFO: Received request cmpl-1: prompt: '<|im_start|>user\\nhi<|im_end|>\\n', x",
        'sglang request rid=7 prompt="<|im_start|>user\\nhi<|im_end|>\\n<|im_start|>assistant\\n"',
    ],
)
def test_a_prompt_that_the_server_logs_is_compared_with_the_rows_of_the_training(got):
    row = ["training example:", "<bos><start_of_turn>user", "hi<end_of_turn>"]
    cut = '{"finish_reason": "length"}'
    one = first(*row, *LOSSES, got, cut)
    assert one.key == "template_differs" and "<start_of_turn>" in one.says
    same = got.replace("<|im_start|>", "<start_of_turn>").replace("<|im_end|>", "<end_of_turn>")
    assert first(*row, *LOSSES, same, cut) is None
