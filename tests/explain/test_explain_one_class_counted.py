"""An accuracy that is the share of the larger class, and one that is more than that."""

import pytest

from tests.helpers.explained import first, keys


def rows(hits: float = 0.9402, moves: float = 0.0, key: str = "eval_accuracy"):
    found = []
    for n in range(1, 6):
        found.append(f"{{'loss': {0.3 - 0.01 * n:.4f}, 'epoch': 0.{n}}}")
        found.append(
            f"{{'eval_loss': {0.24 - 0.005 * n:.4f}, '{key}': {hits + moves * n:.4f}, "
            f"'epoch': 0.{n}}}"
        )
    return found


MATRIX = ["confusion (rows are true):", "[[3, 1193], [2, 18802]]"]
REPORT = [
    "              precision    recall  f1-score   support",
    "         bad       0.00      0.00      0.00      1196",
    "        good       0.94      1.00      0.97     18804",
]
FOUND = [REPORT[0], REPORT[1].replace("0.00      0.00", "0.71      0.52"), REPORT[2]]


@pytest.mark.parametrize(
    "counted",
    [
        ["labels: good 94.0%, bad 6.0%"],
        ["Counter({1: 18804, 0: 1196})"],
        ["18804 of 20000 steps are good"],
        ["label", "1    18804", "0     1196"],
        MATRIX,
        REPORT,
        ["recall of bad: 0.00"],
    ],
)
def test_an_accuracy_that_is_a_share_is_named(counted):
    one = first(*counted, *rows())
    assert one.key == "one_class" and "larger class" in one.says and "pos_weight" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        ["labels: good 94.0%, bad 6.0%", *rows(hits=0.962)],
        ["labels: good 94.0%, bad 6.0%", *rows(hits=0.93, moves=0.004)],
        ["labels: good 51.0%, bad 49.0%", *rows(hits=0.51)],
        [*FOUND, *rows(hits=0.95, moves=0.003)],
        ["[[612, 584], [220, 18584]]", *rows(hits=0.95)],
        ["it has 1153 of 1169 bad steps wrong", *rows(hits=0.9863)],
        [*MATRIX, *rows(hits=0.989)],  # of other rows than the accuracy
        ["94.0% of the answers are one word long", *rows(hits=0.951)],
    ],
)
def test_an_accuracy_above_the_share_and_a_found_class_are_not_accused(lines):
    assert "one_class" not in keys(*lines)
