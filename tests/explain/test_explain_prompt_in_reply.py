"""Replies that begin with the prompt beside a prompt column, and those that are cut."""

import pytest

from tests.helpers.explained import first, keys

ROWS = [
    f"{{'loss': {0.66 - 0.02 * n:.3f}, 'rewards/chosen': 0.0{n}, 'rewards/rejected': -0.1{n}, "
    f"'rewards/accuracies': 0.7{n}, 'rewards/margins': 0.1{n}}}"
    for n in range(8)
]
PROMPT = r"prompt: 'Human: How do I clean a copper pan?\n\nAssistant:'"
WHOLE = r"chosen: 'Human: How do I clean a copper pan?\n\nAssistant: Rub it with half a lemon.'"
ALONE = r"chosen: ' Rub it with half a lemon, then rinse the copper pan.'"
CODE = 'return {"prompt": x["prompt"], "chosen": x["chosen"], "rejected": x["rejected"]}'
CUT = 'x["chosen"] = x["chosen"][len(x["prompt"]):]'
REPEATS = "After the run it repeats the question and then answers."
RENDERED = [
    'row["prompt"] = tok.apply_chat_template(row["prompt"], tokenize=False)',
    'row["chosen"] = tok.apply_chat_template(row["chosen"], tokenize=False)',
]
LIST = 'chosen: [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]'
DECODED = [
    "row 0, prompt_input_ids and chosen_input_ids decoded:",
    "<|user|>",
    "How do I clean a copper pan?<|end|>",
    "<|assistant|>",
    "<|user|>",
    "How do I clean a copper pan?<|end|>",
    "<|assistant|>",
    "Rub it with half a lemon.<|end|>",
]


@pytest.mark.parametrize(
    "lines",
    [
        [PROMPT, WHOLE, CODE, *ROWS],
        [PROMPT, WHOLE, *ROWS, REPEATS],
        [LIST, *RENDERED, *ROWS, REPEATS],
        [LIST, LIST.replace("chosen", "prompt").split(', {"role": "ass')[0] + "]", *ROWS, REPEATS],
        [*DECODED, *ROWS],
        [
            ">>> row['prompt']",
            PROMPT.partition(": ")[2],
            ">>> row['chosen']",
            WHOLE.partition(": ")[2],
            *ROWS,
            "the model echoes the prompt",
        ],
    ],
)
def test_a_prompt_that_stands_twice_is_named(lines):
    one = first(*lines)
    assert one.key == "prompt_twice" and "twice" in one.says and "last assistant" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [PROMPT, ALONE, CODE, *ROWS, REPEATS],
        [PROMPT, WHOLE, CUT, CODE, *ROWS, REPEATS],
        [PROMPT, WHOLE, *ROWS],  # who reads the rows is not told
        [LIST, *ROWS, REPEATS],  # a prompt that is text: the trainer takes the prompt out
        [*DECODED[:4], *DECODED[7:], *ROWS],
    ],
)
def test_replies_alone_and_prompts_taken_out_are_not_accused(lines):
    assert "prompt_twice" not in keys(*lines)
