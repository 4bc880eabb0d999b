"""What libraries warn of, and what a few lines of code show, in everyday fine-tuning."""

import pytest

from tests.helpers.explained import first, key, keys

LOSSES = [f"{{'loss': {1.9 - n / 10:.1f}, 'grad_norm': 1.0, 'epoch': 0.{n}}}" for n in range(1, 8)]
NONE_LEFT = "ZeroDivisionError: Unsloth: All labels in your dataset are -100. Training losses will"


@pytest.mark.parametrize(
    ("model", "mark", "own"),
    [
        ("unsloth/gemma-2-9b-it", "<|im_start|>assistant\\n", "<start_of_turn>model"),
        ("Qwen2.5-7B-Instruct", "<|start_header_id|>assistant", "<|im_start|>assistant"),
    ],
)
def test_marks_of_another_template_leave_no_label(model, mark, own):
    found = first(f"model_name = '{model}'", f'response_part = "{mark}",', NONE_LEFT)
    assert found.key == "labels_masked"
    assert own in found.fix


def test_without_a_mark_all_labels_are_masked_as_the_library_says():
    assert key(NONE_LEFT) == "labels_masked"


@pytest.mark.parametrize(
    ("line", "due"),
    [
        ("You are trying to modify a model with PEFT for a second time. If", "adapter_twice"),
        (
            "You are using packing, but the attention implementation is not set to a supported "
            "flash attention variant. Packing gathers multiple samples into a single sequence",
            "packing_leak",
        ),
        (
            "Padding-free training is enabled, but the attention implementation is not set to a "
            "supported flash attention variant.",
            "packing_leak",
        ),
    ],
)
def test_a_warning_is_read_beside_a_loss_that_falls(line, due):
    assert key(line, *LOSSES) == due


@pytest.mark.parametrize(
    "lines",
    [
        [">>> ds[0]['input_ids'][:6]", "[1, 1, 733, 16289, 28793, 22467]"],
        ['b["input_ids"][0][:8]', "tensor([128000, 128000, 128006,   9125, 128007,    271])"],
        [">>> tok.decode(ids)", "'<s> <s> [INST] Hello'"],
    ],
)
def test_two_start_tokens_below_what_asks_for_the_ids(lines):
    assert key(*lines, *LOSSES) == "double_bos"


@pytest.mark.parametrize(
    "lines",
    [
        [">>> ds[0]['input_ids'][:6]", "[2, 2, 2, 2, 651, 1872]"],  # padding on the left
        [">>> ds[0]['input_ids'][:6]", "[1, 733, 16289, 28793, 22467]"],
        [">>> counts of the labels", "[1, 1, 7, 12, 40]"],
    ],
)
def test_padding_one_start_and_other_numbers_are_no_two_starts(lines):
    assert "double_bos" not in keys(*lines, *LOSSES)


LOAD = "model = PeftModel.from_pretrained(base, 'out/checkpoint-300')"
SAVE = "model.save_pretrained('merged')"


@pytest.mark.parametrize("save", [SAVE, "model.push_to_hub('me/merged')"])
def test_a_merge_whose_result_is_thrown_away(save):
    found = first(LOAD, "model.merge_and_unload()", save, *LOSSES)
    assert found.key == "merged_not_equal"
    assert "merged = model.merge_and_unload()" in found.fix


@pytest.mark.parametrize(
    "lines",
    [
        [LOAD, "model = model.merge_and_unload()", SAVE],
        [LOAD, "merged = model.merge_and_unload()", "merged.save_pretrained('merged')"],
        [LOAD, "model.merge_adapter()", "print(model.generate(x))"],
        [LOAD, "model.merge_and_unload()", "print(model.generate(x))"],
    ],
)
def test_a_merge_that_is_kept_is_no_fault(lines):
    assert "merged_not_equal" not in keys(*lines, *LOSSES)
