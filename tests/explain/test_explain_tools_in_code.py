"""What tools have written in the loss: masks in code, and more tokens learnt than written."""

import pytest

from tests.helpers.explained import first, keys

RUN = [f"step {n} reward 0.3{n} kl 0.00{n} grad_norm 0.9" for n in range(1, 8)]
BY_KIND = [
    'for seg in episode:  # seg.role: "system" | "user" | "assistant" | "tool"',
    "    mask += [0 if seg.role in ('system', 'user') else 1] * len(seg.ids)",
]
WHOLE = [
    "text = ''",
    "while turns:",
    "    out = llm.generate(prompt + text)",
    "    text += out",
    "    if '```python' in out:",
    "        text += run_python(out)",
    "ids = tokenizer(text).input_ids",
    "response_mask = [1] * len(ids)",
]


@pytest.mark.parametrize(
    "lines",
    [
        [*BY_KIND, *RUN],
        ["# kinds: 'prompt', 'model', 'observation'", "m = 1 if kind != 'prompt' else 0", *RUN],
        ["sources = ['user', 'tool_output']", "loss_mask = [int(s != 'user') for s in src]", *RUN],
        [*WHOLE, *RUN],
        [*WHOLE[:-1], "return Out(ids=ids, response_mask=[1] * len(ids), turns=n)", *RUN],
        [*WHOLE[:-1], "row = {'ids': ids, 'response_mask': [1] * len(ids)}", *RUN],
        [
            "resp = policy.sample(ctx)",
            "resp = torch.cat([resp, env.step(resp)])",
            "action_mask = torch.ones_like(resp)",
            *RUN,
        ],
    ],
)
def test_code_that_learns_what_a_tool_wrote_is_told(lines):
    lines = [one.replace("m = 1", "mask = 1") for one in lines]
    one = first(*lines)
    assert one.key == "tool_results_learnt" and "mask of 0" in one.fix


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0 if seg.role in ('system', 'user') else 1", "int(seg.role == 'assistant')"),
        ("('system', 'user')", "('system', 'user', 'tool')"),
        ("response_mask = [1] * len(ids)", "attention_mask = [1] * len(ids)"),
        ("text += run_python(out)", "calls += 1"),
        ("= [1] * len(ids)", "= [1] * len(ids); response_mask[a:b] = 0"),
    ],
)
def test_masks_that_leave_it_out_are_not_accused(old, new):
    text = "\n".join([*BY_KIND, *WHOLE, *RUN])
    assert old in text
    lines = text.replace(old, new).split("\n")
    others = WHOLE if old in "\n".join(BY_KIND) else BY_KIND
    kept = [one for one in lines if one not in others]
    assert "tool_results_learnt" not in keys(*kept)


def rows(learnt: int, written: int, unit: str = "/traj") -> list[str]:
    return [
        f"step {n} | em 0.3{n} | loss_tokens{unit} {learnt - n} | "
        f"assistant_tokens{unit} {written + n} | kl 0.00{n}"
        for n in range(1, 8)
    ]


def test_far_more_tokens_in_the_loss_than_the_policy_wrote_are_told():
    one = first("a search agent, 4 turns", *rows(1470, 264))
    assert one.key == "tool_results_learnt" and "1469 tokens" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        ["a search agent, 4 turns", *rows(270, 264)],
        ["plain GRPO, one turn", *rows(1470, 264)],
        ["a search agent, 4 turns", *rows(14700, 264, "/s")],  # speeds
    ],
)
def test_as_many_tokens_in_the_loss_as_were_written_are_sound(lines):
    assert "tool_results_learnt" not in keys(*lines)
