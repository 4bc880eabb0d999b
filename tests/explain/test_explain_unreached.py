"""Heads that stand under another name, blocks without a gradient, rows of new tokens that stand."""

import pytest

from tests.helpers.explained import first

POLICY = [
    f"{{'policy_loss': -0.0{n}, 'reward': {0.5 + 0.1 * n:.2f}, 'kl': 0.{n}, 'response_length': 90}}"
    for n in range(1, 9)
]
TUNED = [f"{{'loss': {1.91 - n / 500:.3f}, 'grad_norm': 0.2, 'epoch': 0.{n}}}" for n in range(1, 9)]
FALLS = [f"{{'loss': {1.9 - n / 8:.3f}, 'grad_norm': 0.9, 'epoch': 0.{n}}}" for n in range(1, 9)]


def heads(kept: str, new: str, path: str = "/rm"):
    return [
        "Some weights of the model checkpoint at /rm were not used when initializing Scorer: "
        f"['{kept}']",
        f"Some weights of Scorer were not initialized from the model checkpoint at {path} and are "
        f"newly initialized: ['{new}']",
    ]


def test_a_head_of_another_name_is_drawn_at_random():
    one = first(*heads("value_head.weight", "score.weight"), *POLICY)
    assert one.key == "head_is_new" and "value_head" in one.fix and "random direction" in one.says
    tested = ("in its own code: accuracy 0.81", "in this process: accuracy 0.49")
    shown = first(*heads("value_head.weight", "score.weight"), *POLICY, *tested)
    assert any("0.81" in row and "0.49" in row for row in shown.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        (*heads("v_head.weight", "score.weight", "/critic"), *POLICY),
        (*heads("v_head.weight", "score.weight"), *FALLS),
    ],
)
def test_a_head_that_is_trained_or_of_another_model_is_not_blamed(lines):
    one = first(*lines)
    assert one is None or ("under" not in one.says and "random direction" not in one.says)


@pytest.mark.parametrize("kept", ["cls.predictions.bias", "lm_head.weight"])
def test_a_model_of_words_that_scores_a_policy_is_no_reward_model(kept):
    one = first(*heads(kept, "score.weight"), *POLICY)
    assert one.key == "head_is_new" and "no head for a score" in one.says


WARNING = "UserWarning: None of the inputs have requires_grad=True. Gradients will be None"
CONFIG = [
    "config = LoraConfig(r=8, target_modules=['q_proj', 'v_proj'], modules_to_save=['lm_head'])",
    "args = dict(gradient_checkpointing_kwargs={'use_reentrant': True})",
]


def test_adapters_that_have_not_moved_stand_in_blocks_without_gradient():
    one = first(WARNING, *TUNED, "lora weights changed: 2 of 64")
    assert one.key == "checkpoint_without_gradient" and "2 of 64" in one.says
    assert first(WARNING, *TUNED, "lora weights changed: 64 of 64") is None
    assert first(*TUNED, "lora weights changed: 2 of 64") is None


ANSWERED = [
    ">>> norms = {k: v.norm() for k, v in weights.items() if 'lora_B' in k}",
    ">>> sum(v > 0 for v in norms.values()), len(norms)",
    "(1, 96)",
]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (ANSWERED, "1 of 96"),
        ("\n".join(ANSWERED).replace("v > 0", "v == 0").replace("1, 96", "95, 96"), "1 of 96"),
        ("95/96 lora_B tensors are still zero", "1 of 96"),
        ("lora_B with grad None: 94 of 96", "2 of 96"),
        ("96 lora_B, 1 non-zero", "1 of 96"),
        ("3 of 96 adapter weights have moved", "3 of 96"),
    ],
)
def test_adapters_are_counted_in_many_words(lines, told):
    rows = lines if isinstance(lines, list) else lines.split("\n")
    assert told in first(WARNING, *TUNED, *rows).says
    assert told in first(CONFIG[1], *TUNED, *rows).says  # the warning was filtered


@pytest.mark.parametrize(
    "line",
    [
        "96 of 96 lora_B are non-zero",
        "96/96 lora_B zero at init",
        "lora_B: 0/96 zero",
        "\n".join(ANSWERED).replace("1, 96", "96, 96"),
        "\n".join(ANSWERED).replace("lora_B", "norm"),
    ],
)
def test_adapters_that_have_moved_are_not_cut_off(line):
    one = first(WARNING, *TUNED, *line.split("\n"))
    assert one is None or "blocks" not in one.says


def test_a_frozen_table_of_tokens_cuts_the_blocks_off_as_well():
    frozen = "model.get_input_embeddings().requires_grad_(False)"
    assert first(frozen, CONFIG[1], WARNING, *TUNED).key == "checkpoint_without_gradient"
    one = first(frozen, WARNING, *TUNED)
    assert one is None or "blocks" not in one.says


def test_inputs_that_need_a_gradient_are_not_cut_off_without_the_warning():
    needs = "model.enable_input_require_grads()"
    assert first(needs, CONFIG[1], *TUNED, "lora_B: 1/96 nonzero") is None
    assert first(CONFIG[1], *TUNED, "lora_B: 0/96 nonzero") is None


def test_without_a_count_the_head_alone_is_trained_and_the_loss_stands():
    assert first(*CONFIG, WARNING, *TUNED).key == "checkpoint_without_gradient"
    for lines in (
        (*CONFIG, WARNING, *FALLS),
        (CONFIG[0], WARNING, *TUNED),
        (*CONFIG, "model.enable_input_require_grads()", WARNING, *TUNED),
    ):
        one = first(*lines)
        assert one is None or one.key != "checkpoint_without_gradient"


ADDED = ["tok.add_tokens(['<a>', '<b>', '<c>'])", "LoraConfig(target_modules=['q_proj', 'v_proj'])"]
ALIKE = [">>> F.cosine_similarity(rows[:1], rows[1:])", "tensor([1.0000, 1.0000])"]


def test_rows_of_new_tokens_stand_where_the_adapter_leaves_the_tables_out():
    one = first(*ADDED, *FALLS, *ALIKE)
    assert one.key == "new_tokens_untrained" and "all alike" in one.says
    said = "All is learnt, but the new tokens are never written where they should be."
    assert "all alike" not in first(*ADDED, *FALLS, said).says


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'v_proj'])", "'v_proj'], modules_to_save=['embed_tokens', 'lm_head'])"),
        ("'v_proj']", "'embed_tokens']"),
        ("[1.0000, 1.0000]", "[0.6120, 0.4313]"),
        ("add_tokens(['<a>', '<b>', '<c>'])", "add_special_tokens({'pad_token': '<pad>'})"),
    ],
)
def test_rows_that_are_trained_or_apart_are_not_blamed(old, new):
    lines = "\n".join([*ADDED, *FALLS, *ALIKE]).replace(old, new)
    assert first(lines) is None
