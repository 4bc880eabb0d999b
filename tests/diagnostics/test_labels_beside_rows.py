"""Labels beside other rows, texts on both sides of pairs, mirrored pictures: seen, and not else."""

import random
from types import SimpleNamespace

import pytest
import torch
from datasets import Dataset
from transformers import default_data_collator

from course_utils.diagnostics.diagnosis.looks.all_pairs import look_at_texts_on_both_sides
from course_utils.diagnostics.diagnosis.looks.label_order import look_at_label_order
from course_utils.diagnostics.diagnosis.looks.mirrored import look_at_mirrored
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet

NUM = 240


def of_rows(rows, labels, column="labels"):
    data = Dataset.from_dict({"input_ids": rows, column: labels})
    sheet = Sheet()
    subject = SimpleNamespace(trainer=SimpleNamespace(train_dataset=data), batch={}, model=None)
    look_at_label_order(subject, sheet)
    return sheet.found


def told_by_words():
    """Rows of three classes, each with words of its own, and of many lengths."""
    draw = random.Random(0)
    labels = [draw.randrange(3) for _ in range(NUM)]
    return [
        [10 * one + draw.randrange(9) for _ in range(draw.randint(3, 12))] for one in labels
    ], labels


def by_length(rows):
    return sorted(range(NUM), key=lambda row: len(rows[row]))


ORDERS = {
    "sorted by length": by_length,
    "counted from the end": lambda rows: list(reversed(range(NUM))),
    "the row before": lambda rows: [row - 1 for row in range(NUM)],
    "the row behind": lambda rows: [(row + 1) % NUM for row in range(NUM)],
}


@pytest.mark.parametrize("said", ORDERS)
@pytest.mark.parametrize("is_soft", [False, True])
def test_labels_in_another_order_are_found_and_the_order_is_said(said, is_soft):
    rows, labels = told_by_words()
    given = [labels[row] for row in ORDERS[said](rows)]
    soft = [[3.0 * (one == label) for one in range(3)] for label in given]
    [found] = of_rows(rows, soft if is_soft else given, "teacher" if is_soft else "labels")
    assert found.key == "labels_uninformative" and said in found.why


@pytest.mark.parametrize("kind", ["as they are", "by chance"])
def test_labels_of_their_rows_and_labels_of_no_row_are_not_accused(kind):
    rows, labels = told_by_words()
    if kind == "by chance":
        labels = random.Random(1).choices(range(3), k=NUM)
    assert of_rows(rows, labels) == []


def of_pairs(chosen, rejected):
    sheet = Sheet()
    look_at_texts_on_both_sides(
        Dataset.from_dict({"chosen_ids": chosen, "rejected_ids": rejected}), sheet
    )
    return [one.key for one in sheet.found]


def test_texts_that_are_better_as_often_as_worse_contradict_and_a_ranking_does_not():
    texts = [[7, number] for number in range(6)]
    pairs = [(a, b) for a in texts for b in texts if a != b] * 2
    assert of_pairs(*zip(*pairs, strict=True)) == ["pairs_contradict"]
    ranked = [(max(a, b), min(a, b)) for a, b in pairs]
    assert of_pairs(*zip(*ranked, strict=True)) == []


class Pictures(torch.utils.data.Dataset):
    def __init__(self, flips):
        self.flips, self.draw = flips, random.Random(0)
        self.images = torch.randn(8, 1, 12, 12, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, row):
        image = self.images[row] * self.draw.uniform(0.8, 1.2)
        is_mirrored = self.flips and self.draw.random() < 0.5
        return {"pixel_values": image.flip(-1) if is_mirrored else image, "labels": row % 2}


@pytest.mark.parametrize("names", [("turn_left", "turn_right"), ("cat", "dog")])
@pytest.mark.parametrize("flips", [True, False])
def test_mirrored_pictures_are_a_fault_where_labels_name_a_side(names, flips):
    sheet, data = Sheet(), Pictures(flips)
    model = SimpleNamespace(config=SimpleNamespace(id2label=dict(enumerate(names))))
    trainer = SimpleNamespace(train_dataset=data, data_collator=None)
    batch = {"pixel_values": data.images}
    look_at_mirrored(SimpleNamespace(trainer=trainer, model=model, batch=batch), sheet)
    assert [one.key for one in sheet.found] == ["mirrored_against_labels"] * (
        flips and "left" in names[0]
    )


@pytest.mark.parametrize("is_mirror", [True, False])
def test_without_names_the_pictures_of_the_evaluation_tell_of_a_side(is_mirror):
    data, draw = Pictures(flips=True), torch.Generator().manual_seed(1)
    one, other = torch.randn(2, 1, 12, 12, generator=draw)
    shown = [one, one.flip(-1) if is_mirror else other]
    noise = 0.1 * torch.randn(40, 1, 12, 12, generator=draw)
    held = [{"pixel_values": shown[n % 2] + noise[n], "labels": n % 2} for n in range(40)]
    model = SimpleNamespace(config=SimpleNamespace(id2label={0: "LABEL_0", 1: "LABEL_1"}))
    for sets, is_read in ((held, True), ({"first": held}, False)):  # several sets are not read
        trainer = SimpleNamespace(train_dataset=data, eval_dataset=sets, args=SimpleNamespace())
        trainer.data_collator = default_data_collator
        batch, sheet = {"pixel_values": data.images}, Sheet()
        look_at_mirrored(SimpleNamespace(trainer=trainer, model=model, batch=batch), sheet)
        assert bool(sheet.found) == (is_mirror and is_read)
