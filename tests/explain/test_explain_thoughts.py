"""Thoughts that a template drops from the rows, and thoughts that a service asks for."""

import pytest

from tests.helpers.explained import first, keys

LOSSES = [f"{{'loss': {0.9 - n / 20:.2f}, 'grad_norm': 0.5, 'epoch': 0.{n}}}" for n in range(1, 8)]
DATA = (
    '{"messages": [{"role": "user", "content": "2+2?"}, '
    '{"role": "assistant", "content": "<think>\\nTwo and two ...\\n</think>\\n\\nIt is 4."}]}'
)
SHOWS = '>>> print(tok.decode(ds[0]["input_ids"]))'
BARE = ["<|im_start|>user", "2+2?<|im_end|>", "<|im_start|>assistant", "It is 4.<|im_end|>"]
EMPTY = [*BARE[:3], "<think>", "", "</think>", "", "It is 4.<|im_end|>"]
KEPT = [*BARE[:3], "<think>", "Two and two ...", "</think>", "It is 4.<|im_end|>"]


@pytest.mark.parametrize(
    "lines",
    [
        [DATA, SHOWS, *BARE],
        [DATA, SHOWS, *EMPTY],
        [DATA, "inputs:", *BARE],
        [DATA, SHOWS, "<|User|>2+2?<|Assistant|>It is 4."],
        ["grep -c '<think>' train.jsonl", "6204", "in the rendered rows I count 1000 <think>"],
        ["train.jsonl has 6,204 think blocks. In the rendered texts only 1,000 of them are left."],
        [
            "texts = [tok.apply_chat_template(s['messages'], tokenize=False) for s in data]",
            "grep -o '<think>' train.jsonl | wc -l",
            "18211",
            ">>> sum(t.count('<think>') for t in texts)",
            "3020",
        ],
        [
            ">>> sum(r['messages'][1]['content'].count('<think>') for r in raw)",
            "9112",
            ">>> sum(t.count('<think>') for t in rendered)",
            "0",
        ],
    ],
)
def test_thoughts_that_are_gone_from_the_rows(lines):
    found = first(*lines, *LOSSES)
    assert found.key == "reasoning_dropped"
    assert "template" in found.fix


@pytest.mark.parametrize(
    "lines",
    [
        [DATA, SHOWS, *KEPT],
        [DATA.replace("<think>\\nTwo and two ...\\n</think>\\n\\n", ""), SHOWS, *BARE],
        [DATA, SHOWS, *BARE[:3]],  # a prompt
        [DATA, "generated:", *BARE],
        ["train.jsonl has 6,204 think blocks, and 1,000 rows have a tool call"],
        ["grep -c '<think>' train.jsonl", "6204", "in the rendered rows I count 6204 <think>"],
    ],
)
def test_thoughts_that_are_kept_or_never_were_there(lines):
    assert "reasoning_dropped" not in keys(*lines, *LOSSES)


ROW = ["a training row:", "<|im_start|>assistant", "<think>", "", "</think>", "", '{"a": 1}']
CALL = 'r = client.chat.completions.create(model="m", messages=msgs, max_tokens=512)'
THINKS = '"<think>\\nOkay, the user wants'


@pytest.mark.parametrize(
    "lines",
    [
        [*ROW, CALL, THINKS],
        ["enable_thinking: false", "vllm serve ./merged", CALL, THINKS],
        [
            "text = tok.apply_chat_template(m, tokenize=False, enable_thinking=False)",
            "python -m sglang.launch_server --model-path ./merged",
            "the first token is <think> in 104 of 200 replies",
        ],
        [*ROW, "curl localhost:8000/v1/chat/completions -d @q.json", "reasoning_content: 'Okay"],
    ],
)
def test_a_service_that_asks_a_model_to_think_that_was_tuned_not_to(lines):
    found = first(*LOSSES, *lines)
    assert found.key == "template_differs"
    assert "enable_thinking" in found.fix
    assert "no need to merge or train again" in found.fix


@pytest.mark.parametrize(
    "lines",
    [
        [
            *ROW,
            'r = client.chat.completions.create(model="m", messages=msgs,',
            '    extra_body={"chat_template_kwargs": {"enable_thinking": False}})',
            THINKS,
        ],
        [*ROW, CALL, '"{\\"a\\": 1}"'],
        [*KEPT, CALL, THINKS],
        [*ROW, THINKS],  # no service
        ["enable_thinking: true", *ROW, CALL, THINKS],
    ],
)
def test_a_request_that_switches_it_off_or_a_model_that_is_to_think(lines):
    assert "template_differs" not in keys(*LOSSES, *lines)
