"""Tokens with other ids, merges without effect, and adapters that are switched off."""

import pytest

from tests.helpers.explained import first

LOSSES = [f"{{'loss': {2 - n / 10:.2f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]


@pytest.mark.parametrize(
    "above, below",
    [
        (["<call> -> 32000, </call> -> 32001"], ["<call> -> 32001, </call> -> 32000"]),
        (
            ["tok.convert_tokens_to_ids(['<a>', '<b>'])", "[50257, 50258]"],
            ["tok.convert_tokens_to_ids(['<a>', '<b>'])", "[50258, 50259]"],
        ),
        (['{"<a>": 50257, "<b>": 50258}'], ['{"<a>": 50258, "<b>": 50257}']),
    ],
)
def test_tokens_that_have_other_ids_elsewhere_are_of_another_tokenizer(above, below):
    score = ["trainer: tag_acc 0.98"], ["server: tag_acc 0.12"]
    one = first(*LOSSES, *above, *score[0], *below, *score[1])
    assert one.key == "other_tokenizer" and "other ids" in one.says
    assert first(*LOSSES, *above, *score[0], *above, *score[1]) is None


CHANGE = "(merged.layers[3].mlp.up_proj.weight - base.layers[3].mlp.up_proj.weight).abs().max()"


@pytest.mark.parametrize(
    "lines",
    [[CHANGE, "tensor(0.)"], ["|merged - base| of q_proj: 0.0000"]],
)
def test_a_merge_that_leaves_the_weights_of_the_base_has_put_nothing_in(lines):
    one = first(*LOSSES, *lines)
    assert one.key == "merged_not_equal" and "put nothing" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        [CHANGE, "tensor(0.0213)"],
        [CHANGE.replace("layers[3].mlp.up_proj", "embed_tokens"), "tensor(0.)"],
        ["|merged - peft| of q_proj: 0.0000"],
    ],
)
def test_a_merge_that_moves_weights_or_equals_the_adapter_is_not_accused(lines):
    assert first(*LOSSES, *lines) is None


OFF = ["with model.disable_adapter():", "    res = evaluate(model, test)"]


def test_an_evaluation_with_the_adapter_off_is_of_the_base():
    assert "switched off" in first(*LOSSES, *OFF).says
    both = ["tuned = evaluate(model, test)", *OFF]
    reference = [OFF[0], "    ref_logps = logps(model, batch)"]
    for lines in (both, reference, [OFF[0], "    base = evaluate(model, test)"]):
        assert first(*LOSSES, *lines) is None


def test_rows_of_new_tokens_whose_change_is_told_as_0_are_frozen():
    lines = ["model.resize_token_embeddings(32003)", "lora_target_modules: [q_proj]", *LOSSES]
    told = "new rows of the embedding, max |after - before|: {}"
    assert first(*lines, told.format("0.0 0.0 0.0")).key == "new_tokens_untrained"
    assert first(*lines, told.format("0.02 0.0 0.01")) is None


PLAIN = ["train example:", "### Instruction:", "sort it", "### Response:"]
CHAT = "r = requests.post(url + '/v1/chat/completions', json={'messages': m})"
CUT = "90% of replies reach max_tokens"


def test_rows_of_plain_words_and_a_chat_endpoint_are_another_form():
    one = first(*PLAIN, *LOSSES, CHAT, CUT)
    assert one.key == "template_differs" and "chat template of its tokenizer" in one.says
    own = "vllm serve m --chat-template alpaca.jinja"
    for lines in ([CHAT], [own, CHAT, CUT]):
        one = first(*PLAIN, *LOSSES, *lines)
        assert one is None or one.key != "template_differs"


@pytest.mark.parametrize(
    "lines",
    [
        ["merged against base + adapter, max diff of the logits: 0.0"],
        ["<call>: 4812 times, </call>: 4790 times", "<call>: 5011 times, </call>: 5002 times"],
        [
            'tok.add_special_tokens({"pad_token": "<pad>"})',
            "model.resize_token_embeddings(32001)",
            "lora_target_modules: [q_proj]",
            "the model never writes the tag <end> at low temperatures",
        ],
        [
            'modules_to_save=["lm_head"]',
            "sd = get_peft_model_state_dict(model)",  # which has the head, too
            "before: accuracy 0.93, with another prompt: accuracy 0.21",
        ],
    ],
)
def test_what_looks_like_a_fault_of_these_kinds_and_is_none_is_not_accused(lines):
    assert first(*LOSSES, *lines) is None
