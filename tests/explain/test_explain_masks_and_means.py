"""Labels that nobody has, tokens of tools in the mask, and a mean over padding."""

import pytest

from tests.helpers.explained import first, key

ZERO = [
    f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.0{n}}}"
    for n in range(1, 5)
]
FALLS = [
    f"{{'loss': {2 - n / 5}, 'grad_norm': 1.1, 'learning_rate': 1e-05, 'epoch': 0.0{n}}}"
    for n in range(1, 7)
]


@pytest.mark.parametrize(
    "counted",
    [
        [">>> (batch['labels'] != -100).sum()", "tensor(0)"],
        [">>> batch['labels'].unique()", "tensor([-100])"],
        [">>> set(ds[3]['labels'])", "{-100}"],
        ["supervised tokens: 0 of 4096"],
        [">>> max(sum(r['completion_mask']) for r in ds)", "0"],
    ],
)
def test_labels_that_were_counted_and_are_none(counted):
    one = first("completion_only_loss=True", *counted, *ZERO)
    assert one.key == "labels_masked" and "0 / 0" in one.says
    assert "count the labels" in one.fix


def test_a_template_without_its_tags_is_named():
    tag = [">>> '{% generation %}' in tok.chat_template", "False"]
    one = first(">>> any(any(r['assistant_masks']) for r in ds)", "False", *tag, *ZERO)
    assert "{% generation %}" in one.says and "{% generation %}" in one.fix


@pytest.mark.parametrize(
    "counted",
    [
        [">>> (batch['labels'] != -100).sum()", "tensor(0)"],
        [">>> sum(r['labels'][-1] != -100 for r in ds), len(ds)", "(0, 9000)"],
    ],
)
def test_a_count_of_0_beside_a_loss_that_falls_is_of_one_row(counted):
    assert key(*counted, *FALLS) != "labels_masked"


def test_a_count_above_0_leaves_the_nan_to_others():
    assert key(">>> (batch['labels'] != -100).sum()", "tensor(214)", *ZERO) != "labels_masked"


def episodes(counts_tools: bool) -> list[str]:
    rows = []
    for n in range(6):
        model, tool = 700 + 40 * n, 1800 - 250 * n
        mask = model + tool * counts_tools
        rows.append(
            f"step={n} reward={0.3 - n / 30:.2f} entropy=0.{9 - n} model_tokens={model} "
            f"tool_tokens={tool} loss_mask_sum={mask}"
        )
    return rows


def test_a_mask_with_as_many_ones_as_policy_and_tools_wrote():
    one = first("multi-turn, python tool", *episodes(True))
    assert one.key == "tool_results_learnt" and "1800" in one.says
    assert "2500 tokens in the mask = 700" in one.for_it[0]


def test_a_mask_of_the_policys_tokens_alone_is_right():
    assert key("multi-turn, python tool", *episodes(False)) != "tool_results_learnt"


def test_a_setting_that_leaves_tools_in_the_loss_needs_a_reply_that_shows_it():
    steps = [f"step={n} reward=0.{9 - n} entropy=0.{n + 1}" for n in range(1, 7)]
    written = "by step 300 the model has written the observation itself"
    one = first("mask_observations: false", *steps, written)
    assert one.key == "tool_results_learnt" and "mask_observations: false" in one.for_it[0]
    assert key("mask_observations: true", *steps, written) != "tool_results_learnt"
    assert key("mask_observations: false", *steps) != "tool_results_learnt"


LENGTHS = [(8, 300, 900), (8, 2000, 400), (8, 700, 1500), (8, 1600, 300), (8, 450, 1200)]


def batches(is_padded: bool) -> list[str]:
    rows = ["step bsz seqlen label_tokens loss_sum loss"]
    for n, (size, length, tokens) in enumerate(LENGTHS):
        total = tokens * (1.3 + n / 100)
        rows.append(
            f"{n} {size} {length} {tokens} {total:.1f} "
            f"{total / (size * length if is_padded else tokens):.5f}"
        )
    return rows


def test_a_loss_over_all_places_of_a_padded_batch():
    one = first(*batches(True))
    assert one.key == "split_changes_loss" and "1.32" in one.says and "mask.sum()" in one.fix
    assert "(8 x 300)" in one.for_it[0]


def test_a_loss_by_token_is_right():
    assert key(*batches(False)) != "split_changes_loss"


RUN = [f"step {n} loss {0.4 - n / 40:.3f} lr 1e-5" for n in range(1, 8)]


@pytest.mark.parametrize(
    "code",
    [
        ["loss = (nll * mask).mean()"],
        ["nll = ce(logits, y) * loss_mask", "loss = nll.sum() / nll.numel()"],
        ["loss = torch.mean(per_token * mask)"],
        ["loss = (nll * mask).sum() / (x.shape[0] * x.shape[1])"],
    ],
)
def test_code_that_takes_such_a_mean(code):
    one = first(*code, "loss.backward()", *RUN)
    assert one.key == "split_changes_loss" and code[-1] in one.for_it[0]


@pytest.mark.parametrize(
    "code",
    [
        ["loss = (nll * mask).sum() / mask.sum()"],
        ["loss = ((nll * mask).sum(-1) / mask.sum(-1)).mean()"],
        ["loss = (nll * mask).sum() / (n_rows * max_completion_length)"],
        ["acc = (hit * mask).mean()"],
    ],
)
def test_other_means_are_not_blamed(code):
    assert key(*code, "loss.backward()", *RUN) != "split_changes_loss"
