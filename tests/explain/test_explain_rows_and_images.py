"""Rows that are not what they are taken for: from an older file, without labels, of other types,
with larger images than were asked for."""

import pytest

from tests.helpers.explained import first

TRAINS = [
    f"{{'loss': {1.4 - n / 20:.3f}, 'grad_norm': 0.4, 'epoch': {n / 5}}}" for n in range(1, 9)
]


KEPT = "tokenized_path: /scratch/rows_a"
FILE = ["$ wc -l data/b.jsonl", "  52000 data/b.jsonl"]
ROWS = "[INFO|trainer.py:2400] >>   Num examples = 7,210"


def test_rows_that_were_prepared_for_an_earlier_run_are_read_again():
    one = first(KEPT, *FILE, ROWS, *TRAINS)
    assert one.key == "rows_prepared_before" and "52000 data/b.jsonl" in one.for_it[0]
    assert "7,210" in one.for_it[1] and "rows_a" in one.for_it[2] and one.against


@pytest.mark.parametrize(
    "lines",
    [
        (*FILE, ROWS),
        (KEPT, ROWS),
        (KEPT, *FILE, ROWS.replace("7,210", "49,400")),
        (KEPT, *FILE, "Running tokenizer on dataset: 100%|##| 52000/52000", ROWS),
        (KEPT, *FILE, "max_samples: 7210", ROWS),
        (KEPT, *FILE, "packing: true", ROWS),
        (KEPT.replace("/scratch/rows_a", "null"), *FILE, ROWS),
        (KEPT, *FILE, "   7210 data/a.jsonl", ROWS),
    ],
)
def test_fewer_rows_with_another_reason_are_not_blamed_on_an_older_file(lines):
    assert first(*lines, *TRAINS) is None


BROKEN = [
    "{'loss': 1.9, 'grad_norm': 0.6, 'epoch': 0.1}",
    *(f"{{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.{n}}}" for n in range(2, 9)),
]
COUNT = ">>> len([r for r in ds if all(t == -100 for t in r['labels'])])"
LONGEST = [">>> max([len(r['input_ids']) for r in ds])", "np.int64(1024)"]
LOADED = "model, tok = FastModel.from_pretrained('base', load_in_4bit=True)"


def counted(bare: int, *lines: str, rows=BROKEN):
    return first(*lines, "Num examples = 2,000", *rows, COUNT, str(bare), *LONGEST)


def test_rows_without_any_label_are_said_by_who_counted_them():
    one = counted(1500)
    assert one.key == "labels_masked" and "1500 of 2000" in one.says and "0 / 0" in one.says


def test_the_limit_that_cut_them_is_told_from_the_one_that_was_set():
    one = counted(1500, "max_length=4096", LOADED)
    assert "cut at 1024" in one.says and "max_seq_length=4096" in one.fix
    one = counted(1500, "max_length=4096", LOADED.replace("load", "max_seq_length=1024, load"))
    assert "max_seq_length=4096" not in one.fix
    assert "cut at" not in counted(1500, "max_length=1024").says


@pytest.mark.parametrize("bare", [0, 12])
def test_few_rows_without_a_label_are_no_cause(bare):
    assert counted(bare).key == "nan_shown_as_zero"
    assert counted(bare, rows=TRAINS) is None


TYPES = "{'input_ids': List(Value('int32')), 'labels': List(Value('bool'))}"
JUDGED = [*TRAINS, "{'eval_loss': 0.09, 'eval_accuracy': 0.982, 'epoch': 1.0}"]
COUNTED = "eval: 900 steps are wrong, 50,000 tokens"


def test_steps_that_are_judged_in_a_type_without_minus_100_are_told_by_their_share():
    one = first("PRMTrainer, Qwen3-0.6B", COUNTED, TYPES, *JUDGED)
    assert one.key == "mask_not_kept" and any("900 / 50,000 is 0.982" in row for row in one.for_it)
    other = first("PRMTrainer, Qwen3-0.6B", COUNTED.replace("900", "9000"), TYPES, *JUDGED)
    assert other.key == "mask_not_kept" and not any("9000" in row for row in other.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        ("a tagger of words", TYPES, *JUDGED),
        ("PRMTrainer", TYPES.replace("bool", "int64"), *JUDGED),
        ("PRMTrainer", TYPES, *JUDGED[:-1], JUDGED[-1].replace("0.982", "0.71")),
    ],
)
def test_labels_of_other_types_or_tasks_are_no_lost_mask(lines):
    one = first(*lines)
    assert one is None or one.key != "mask_not_kept"


FULL = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.10 GiB. GPU 0 has 80 GiB"
LIMIT = "AutoProcessor.from_pretrained(path, max_pixels=512*28*28)"
GRIDS = "pixel_values: torch.Size([10304, 1176])  image_grid_thw: [[1, 92, 112], [1, 40, 50]]"


def test_images_above_their_limit_fill_the_memory():
    one = first(LIMIT, GRIDS, *TRAINS, FULL)
    assert one.key == "cuda_memory" and "max_pixels is not in force" in one.says
    assert any("[1, 92, 112]" in row and "2,019,584 pixels" in row for row in one.for_it)
    assert any("401,408 pixels" in row for row in one.for_it) and "image_processor.size" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (LIMIT.replace("512", "2560"), GRIDS),
        (GRIDS,),
        (LIMIT,),
        ("max_pixels=9", "ids [[1, 92, 112]]"),
    ],
)
def test_images_within_their_limit_or_unseen_are_not_blamed(lines):
    assert "max_pixels" not in first(*lines, *TRAINS, FULL).says
