"""Messages that say what is missing, told apart by the numbers and names beside them."""

from course_utils.explain import explain


def first(*lines: str):
    return explain("\n".join([*lines, ""])).causes[0]


COUNTS = "ValueError: Image features and image tokens do not match: tokens: {}, features: {}"


def test_image_tokens_that_fill_whole_rows_of_the_limit_were_cut_by_it():
    one = first("--max_seq_length 256 \\", "step 1", COUNTS.format(1024, 6400))
    assert one.key == "image_tokens_cut" and "max_seq_length 256 leaves 1024" in one.says
    assert "4 x 256" in one.says and "1600 tokens a row" in one.fix
    assert "processor" not in one.fix


def test_other_counts_are_not_laid_to_the_limit():
    for setting, counts in (
        ("--max_seq_length 256 \\", (1000, 6400)),
        ("--max_seq_length 256 \\", (6400, 1024)),
        ("--epochs 3 \\", (1024, 6400)),
    ):
        assert "processor" in first(setting, "step 1", COUNTS.format(*counts)).fix


MISSING = (
    "UserWarning: Found missing adapter keys while loading the checkpoint: "
    "['base_model.model.model.layers.3.mlp.experts.5.up_proj.lora_A.default.weight', ...]"
)
GROUPED = "base_model.model.model.layers.3.mlp.experts.lora_up_A  (64, 1024, 16)"
OF_ATTENTION = "base_model.model.model.layers.3.self_attn.v_proj.lora_A.weight  (16, 1024)"


def test_experts_in_one_tensor_are_told_from_an_adapter_without_any_name():
    one = first(MISSING, GROUPED, OF_ATTENTION)
    assert one.key == "adapter_not_loaded" and "one tensor for all experts" in one.says
    assert "The rest of the file" in one.says and "split the tensors" in one.fix
    assert "The rest of the file" not in first(MISSING, GROUPED).says


def test_missing_keys_alone_name_no_layout():
    other = MISSING.replace("experts.5.up_proj", "up_proj")
    for lines in ((MISSING,), (MISSING, OF_ATTENTION), (other, OF_ATTENTION)):
        one = first(*lines)
        assert one.key == "adapter_not_loaded" and "experts" not in one.says
        assert "none of the names" not in one.says
