"""A reward that is remembered by its prompt, and one that is remembered by its reply."""

import pytest

from tests.helpers.explained import first


def run(spread: float):
    return [
        f"{{'loss': 0.0, 'grad_norm': {spread}, 'reward': 0.4{n}, 'reward_std': {spread}}}"
        for n in range(1, 8)
    ]


ASKED = [
    "CACHE = {}",
    "def math_reward(prompt_id, completion, answer):",
    "    if prompt_id in CACHE:",
    "        return CACHE[prompt_id]",
    "    value = float(check(completion, answer))",
    "    CACHE[prompt_id] = value",
]
NAMED = [
    "_score_cache = dict()",
    "def reward_fn(prompt, response, **kwargs):",
    "    key = hashlib.md5(prompt.encode()).hexdigest()",
    "    if key not in _score_cache:",
    "        _score_cache[key] = grade(response)",
]


@pytest.mark.parametrize("code", [ASKED, NAMED])
def test_a_score_that_is_kept_by_its_prompt_goes_to_the_whole_group(code):
    one = first(*code, *run(0.0))
    assert one.key == "no_signal" and "first reply to a prompt" in one.says
    assert "two different replies" in one.fix and len(one.for_it) == 3


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [
        (ASKED, "if prompt_id in", "if (prompt_id, completion) in"),
        (NAMED, "md5(prompt.encode())", "md5((prompt + response).encode())"),
        (NAMED, "    key = hashlib", "    pred = last_boxed(response)\n    key = pred  # hashlib"),
        (NAMED, "reward_fn", "load_row"),
        (NAMED, "_score_cache", "answers_by_prompt"),
    ],
)
def test_a_key_with_the_reply_is_right(code, old, new):
    one = first(*"\n".join(code).replace(old, new).split("\n"), *run(0.0))
    assert one is None or "remembered" not in one.says


@pytest.mark.parametrize("code", [ASKED, NAMED])
def test_where_groups_are_told_apart_nothing_is_said(code):
    assert first(*code, *run(0.3)) is None


def test_the_temperature_of_an_evaluation_is_none_of_the_groups():
    verl = [
        f"step:{n} - critic/advantages/max:0.0 - critic/score/mean:0.3{n} - actor/grad_norm:0.0"
        for n in range(1, 8)
    ]
    of_both = "rollout.temperature=1.0 rollout.val_kwargs.temperature=0.3"
    assert "0.3 leaves" not in first(of_both, *verl).fix
    assert "0.3 leaves" in first(of_both.replace("val_kwargs.", ""), *verl).fix
