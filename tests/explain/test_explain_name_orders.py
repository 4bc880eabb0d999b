"""The classes in two orders: in lists and maps, by folders, by a set, and counted from 1."""

import pytest

from tests.helpers.explained import first

GOOD, BAD = "valid  epoch 3  val_acc 0.94", "served  accuracy 0.12"
LIST = "classes = ['late', 'broken', 'lost', 'praise']"
MAP = '"label2id": {"broken": 0, "late": 1, "lost": 2, "praise": 3}'
FOLDERS = ["$ ls rows/train", "broken/", "late/", "lost/", "praise/", ""]
NUMBERED = ["names.txt", "0: late", "1: broken", "2: lost", "3: praise"]


@pytest.mark.parametrize("lines", [[LIST, MAP], [*FOLDERS, *NUMBERED], [*NUMBERED, MAP]])
def test_two_orders_of_the_same_names_beside_a_fallen_accuracy_are_told(lines):
    one = first(*lines, GOOD, BAD)
    assert one.key == "evaluation_rows_differ" and "Only lost, praise have" in one.says
    assert "0.12, where 0.94 is told" in " ".join(one.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        [LIST, MAP, GOOD, BAD.replace("0.12", "0.91")],
        [LIST, LIST.replace("classes", "names"), GOOD, BAD],
        [LIST, MAP.replace('"late"', '"slow"'), GOOD, BAD],
        [LIST, MAP, BAD],  # nothing was ever better
        ["target_modules=['q_p', 'k_p', 'v_p']", "modules: ['v_p', 'q_p', 'k_p']", GOOD, BAD],
    ],
)
def test_one_order_other_names_or_an_accuracy_that_holds_are_not_accused(lines):
    assert first(*lines) is None


COUNTED = ["true  {1: 90, 2: 60, 3: 70}", "argmax  {0: 92, 1: 61, 2: 67}"]


def test_classes_that_are_counted_from_1_in_one_place_are_shifted():
    one = first(GOOD, *COUNTED, "accuracy 0.06", "mean of (pred - label) is -0.97")
    assert one.key == "evaluation_rows_differ" and "from 0 where the model" in one.says
    assert "argmax +1" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [COUNTED[0], COUNTED[1].replace("0: 92", "3: 92"), "accuracy 0.06"],
        [*COUNTED, "accuracy 0.93"],
    ],
)
def test_the_same_numbers_or_a_good_accuracy_are_not_shifted(lines):
    assert first(GOOD, *lines) is None


HASHED = "    vocab = {n: i for i, n in enumerate(set(df.topic))}"
RUNS = ["accuracy 0.07", "again: accuracy 0.31", "again: accuracy 0.15"]


def test_a_set_of_names_is_in_another_order_in_each_process():
    one = first(HASHED, GOOD, *RUNS)
    assert "order of a set" in one.says and "sorted(set" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [HASHED.replace("set(df.topic)", "sorted(set(df.topic))"), GOOD, *RUNS],
        [HASHED, "    vocab = json.load(open('vocab.json'))", GOOD, *RUNS],
        [HASHED, GOOD, "accuracy 0.93", "again: accuracy 0.93"],
    ],
)
def test_a_sorted_or_saved_order_is_not_accused(lines):
    assert first(*lines) is None
