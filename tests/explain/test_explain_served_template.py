"""A server that is told to use another template than that of the training."""

import pytest

from tests.helpers.explained import first

LOSSES = [f"{{'loss': {2 - n / 10:.2f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]
LONG = '{"id": "cmpl-7", "finish_reason": "length", "completion_tokens": 512}'


@pytest.mark.parametrize(
    "trained, served",
    [
        ("template: qwen", "vllm serve out/merged --chat-template ./llama3_tools.jinja"),
        ("    tok = get_chat_template(tok, chat_template='chatml')", "--chat-template llama-2"),
        ("--template llama3 \\", "llama-server -m f16.gguf --chat-template chatml -c 8192"),
        ("chat_template: gemma", 'args: ["--model", "/m", "--chat-template", "/t/mistral.jinja"]'),
        ("prompt_template=alpaca", "sglang.launch_server --chat-template qwen25-tools.jinja"),
    ],
)
def test_the_option_of_a_server_is_another_template(trained, served):
    one = first(trained, *LOSSES, served, LONG)
    assert one.key == "template_differs" and "is told to use" in one.says
    assert any("length" in text for text in one.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        ["template: llama3", *LOSSES, "vllm serve m --chat-template llama3.1_json.jinja", LONG],
        ["template: qwen", *LOSSES, "vllm serve m --chat-template ours.jinja", LONG],
        ["template: qwen", *LOSSES, "vllm serve m --chat-template llama3.jinja"],
        ["template: qwen", *LOSSES, "vllm serve m --tool-call-parser hermes", LONG],
        ["template: qwen", "template: llama3", *LOSSES, "x --chat-template llama3.jinja", LONG],
    ],
)
def test_the_same_form_and_a_name_that_tells_nothing_are_not_accused(lines):
    one = first(*lines)
    assert one is None or "is told to use" not in one.says
