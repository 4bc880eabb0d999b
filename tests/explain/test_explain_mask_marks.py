"""A mask that is asked for and hides nothing: every token but one of each row has a label."""

import pytest

from tests.helpers.explained import first


def run(gap, name="ltok") -> list[str]:
    sizes = [9120 + 37 * n for n in range(8)]
    rows = ((n, 1.7 - 0.1 * n, size, gap(size)) for n, size in enumerate(sizes))
    return [f"s={n} loss={loss:.3f} rows=8 tok={s} {name}={s - g}" for n, loss, s, g in rows]


QWEN, MARK = "model: /m/Qwen2.5-7B-Instruct", 'response_template = "<|start_header_id|>assistant"'


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ([QWEN, MARK], "label_tokens"),
        (["base_model: gemma-2-9b-it", 'loss_after: "<|im_start|>assistant\\n"'], "ltok"),
        (
            ["model_name=Mistral-7B-Instruct-v0.3", "response_part = '<|im_start|>assistant'"],
            "ltok",
        ),
        (["train_on_inputs: false"], "n_labels"),
        (["completion_only_loss=True"], "loss_tokens"),
    ],
)
def test_a_mask_that_hides_nothing_leaves_the_prompt_in_the_loss(lines, name):
    assert first(*lines, *run(lambda size: 8, name)).key == "prompt_in_loss"


def test_the_mark_of_another_model_is_named():
    one = first(QWEN, MARK, *run(lambda size: 8))
    assert "does not stand in the template" in one.says and "<|im_start|>" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [QWEN, MARK, *run(lambda size: size - 70)],
        [QWEN, MARK, *run(lambda size: size // 10)],
        [QWEN, *run(lambda size: 8)],
        ["train_on_inputs: true", *run(lambda size: 8)],
    ],
)
def test_a_mask_at_work_and_a_loss_on_everything_by_choice_are_no_fault(lines):
    one = first(*lines)
    assert one is None or one.key != "prompt_in_loss"
