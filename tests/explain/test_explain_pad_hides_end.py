"""One token for padding and end, and what hides the end with the padding."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain

FALLS = {"loss": lambda n: 1.6 - n / 20, "grad_norm": 0.5, "learning_rate": 1e-4}
SAME = "tokenizer.pad_token_id = tokenizer.eos_token_id"
RUNS_ON = ["generate(max_new_tokens=300)", "mean of new tokens: 299.1"]
BY_ID = "    labels[labels == tokenizer.pad_token_id] = -100"


def first(*lines: str):
    text = [*lines, *map(json.dumps, rows(9, **FALLS))]
    return next(iter(explain("\n".join([*text, ""])).causes), None)


@pytest.mark.parametrize(
    "code",
    [
        BY_ID,
        "    y = x.masked_fill(x.eq(pad_id), -100)",
        "    y = torch.where(ids == cfg.pad_token_id, -100, ids)",
        "    row['labels'] = [-100 if t == tok.pad_token_id else t for t in row['input_ids']]",
        "collator = DataCollatorForLanguageModeling(tok, mlm=False)",
    ],
)
@pytest.mark.parametrize("same", [SAME, "pad_token='</s>' eos_token='</s>'", "eos_id 2  pad_id 2"])
def test_labels_that_are_hidden_by_the_id_of_both_unlearn_the_end(code, same):
    one = first(same, code, *RUNS_ON)
    assert one.key == "pad_is_eos" and "never learns to stop" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        (SAME, BY_ID, RUNS_ON[0], "mean of new tokens: 88.0"),  # replies end
        ("pad_token='<pad>' eos_token='</s>'", BY_ID, *RUNS_ON),
        (SAME, "    labels[attention_mask == 0] = -100", *RUNS_ON),
        (SAME, BY_ID, "packing: true", *RUNS_ON),
        ("eos_id 2  pad_id 2", BY_ID, "labels [-100, 55, 812, 2, -100, -100]", *RUNS_ON),
        ("eos_id 2  pad_id 2", "DataCollatorForLanguageModeling(tok, mlm=True)", *RUNS_ON),
    ],
)
def test_an_end_that_is_kept_or_replies_that_end_are_not_accused(lines):
    one = first(*lines)
    assert one is None or one.key != "pad_is_eos" or one.weight < 2


COUNTS = ["counts as labels:", "  198   4,100", "  7     0"]


def test_an_end_that_is_never_a_label_by_count_is_hidden():
    one = first("eos_id 7  pad_id 7", *COUNTS)
    assert one.key == "pad_is_eos" and "(7) is never a label" in one.says
    other = first("eos_id 7  pad_id 7", *COUNTS[:2], "  7     2,011")
    assert other is None


def table(short: int) -> list[str]:
    lengths = (212, 300, 187, 254, 96)
    head = " row  n_tokens  padded  mask_sum"
    return [head, *(f"  {n}  {one}  300  {one - short}" for n, one in enumerate(lengths))]


def test_a_mask_that_is_one_short_in_each_row_hides_the_end():
    assert first("eos_id 2  pad_id 2", *table(1)).key == "pad_is_eos"
    assert first("eos_id 2  pad_id 2", *table(0)) is None


def test_a_row_that_is_printed_on_several_lines_is_read_whole():
    ids = ["b['input_ids'][0]", "tensor([ 11, 12, 13, 14,", "   2,  2,  2,  2])"]
    labels = ["b['labels'][0]", "tensor([ 11, 12, 13, 14,", "  {end}, -100, -100, -100])"]
    mask = ["b['attention_mask'][0]", "tensor([1, 1, 1, 1,", "  1, 0, 0, 0])"]

    def shown(end: int):
        return first(*ids, *(one.format(end=end) for one in labels), *mask)

    assert shown(-100).key == "pad_is_eos" and shown(2) is None
