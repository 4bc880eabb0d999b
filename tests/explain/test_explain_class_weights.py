"""Weights of classes in the order of their numbers, and in that of a count."""

import pytest

from tests.helpers.explained import first

CODE = [
    "counts = collections.Counter(train['label'])",
    "weights = torch.tensor([n / (len(counts) * v) for v in counts.values()])",
    "criterion = nn.CrossEntropyLoss(weight=weights)",
]
PRINTED = ["label counts {1: 800, 0: 150, 2: 50}", "weights: [0.417, 2.222, 6.667]"]
RUN = [f"{{'loss': {1 - n / 20:.2f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]


def test_weights_in_the_order_of_first_appearance_go_to_other_classes():
    one = first(*CODE, *PRINTED, *RUN)
    assert one.key == "class_weights_misplaced" and not one.against
    assert "class 1 gets 2.222 where its 800 rows would give 0.417, and so 2 of 3" in one.says


def test_where_nothing_is_printed_the_order_is_open():
    one = first(*CODE, *RUN)
    assert one.key == "class_weights_misplaced" and one.against
    frequent = CODE[0].replace("collections.Counter(train['label'])", "df.label.value_counts()")
    assert first(frequent, *CODE[1:], *RUN).key == "class_weights_misplaced"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for v in counts.values()", "/ counts[i] for i in range(3)"),
        ("for v in counts.values()", "for _, v in sorted(counts.items())"),
        ("collections.Counter(train['label'])", "df.label.value_counts().sort_index()"),
        ("[0.417, 2.222, 6.667]", "[2.222, 0.417, 6.667]"),
        ("[0.417, 2.222, 6.667]", "[1.0, 1.0, 4.0]"),
        ("weight=weights", ""),
    ],
)
def test_weights_by_the_number_of_the_class_are_right(old, new):
    text = "\n".join([*CODE, *PRINTED, *RUN]).replace(old, new)
    assert first(text) is None
