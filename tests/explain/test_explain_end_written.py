"""Replies that hold their end and go on, since generation waits for another one."""

import pytest

from tests.helpers.explained import first, keys

LOSSES = [f"{{'loss': {1.9 - n / 10:.1f}, 'grad_norm': 1.0, 'epoch': 0.{n}}}" for n in range(1, 8)]
TEXT = '"Sure, here it is.<|im_end|>\\n<|im_start|>user\\nThank you"'
STOP = '"eos_token_id": 151643,'


@pytest.mark.parametrize(
    "lines",
    [
        [TEXT, STOP],
        ["output: 'It is 4.<|eot_id|><|start_header_id|>user'", '"eos_token": "<|end_of_text|>",'],
        [">>> out[0][n:].tolist()", "[40, 13, 128009, 128006, 882, 128007]", "eos_token_id=128001"],
        [
            "generated ids: [791, 4320, 374, 220, 19, 13, 128009, 882]",
            ">>> tok.eos_token, model.generation_config.eos_token_id",
            "('<|end_of_text|>', 128001)",
        ],
        ["'Done.<end_of_turn>\\n<start_of_turn>user\\nAnd'", '"eos_token_id": 1,'],
        [
            "Sure(39814, 39814) !(0, 0) <|im_end|>(151645, 151645)",
            "finish_reason: length",
            '"eos_token": "<|endoftext|>",',
        ],
    ],
)
def test_an_end_that_is_learnt_and_not_waited_for(lines):
    found = first(*LOSSES, *lines)
    assert found.key == "stops_elsewhere"
    assert "generation_config" in found.fix
    assert "no need to train again" in found.fix


@pytest.mark.parametrize(
    "lines",
    [
        [TEXT, '"eos_token_id": [151645, 151643],'],
        ['"It is 4.<|im_end|>"', STOP],
        ['"<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\n"', STOP],
        ["prompt_token_ids: [128000, 128006, 882, 128009, 128006]", "eos_token_id=128001"],
        ["generated ids: [791, 4320, 19, 13, 128009]", "eos_token_id=128001"],
        ["Sure(39814, 39814) <|im_end|>(151645, 151645)", '"eos_token": "<|endoftext|>",'],
    ],
)
def test_an_end_that_is_waited_for_a_prompt_and_a_reply_that_is_over_are_no_fault(lines):
    assert "stops_elsewhere" not in keys(*LOSSES, *lines)
