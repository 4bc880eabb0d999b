"""A model of scores is asked whether it knows more than which reply is longer."""

from types import SimpleNamespace

import pytest
import torch
from datasets import Dataset
from torch import nn

from course_utils.diagnostics.diagnosis.looks.one_length import look_at_one_length
from course_utils.diagnostics.diagnosis.looks.told_apart import look_at_lengths
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import SCORES

GOOD, BAD, END = 7, 5, 2
PAIRS = Dataset.from_list(
    [
        {"chosen_ids": [n, GOOD, *[9] * (6 + n % 3), END], "rejected_ids": [n, BAD, 9, END]}
        for n in range(10, 60)
    ]
)


class Scorer(nn.Module):
    """Scores a row by its number of tokens, by one of its tokens, or not at all."""

    def __init__(self, by: str) -> None:
        super().__init__()
        self.by, self.weight = by, nn.Parameter(torch.ones(1))

    def forward(self, input_ids, attention_mask):
        scores = {
            "length": attention_mask.sum(1),
            "word": (input_ids == GOOD).any(1) * 10 - (input_ids == BAD).any(1) * 10,
            "nothing": attention_mask.sum(1) * 0,
        }[self.by]
        return {"logits": scores.float()[:, None] * self.weight}


@pytest.mark.parametrize(
    ("by", "found", "doubts"),
    [("length", ["length_tells"], 1), ("word", [], 0), ("nothing", [], 1)],
)
def test_the_doubt_becomes_a_cause_or_is_taken_back_by_what_the_model_ranks(by, found, doubts):
    trainer = SimpleNamespace(train_dataset=PAIRS)
    subject = SimpleNamespace(trainer=trainer, model=Scorer(by), tokenizer=None, kind=SCORES)
    sheet = Sheet()
    look_at_lengths(PAIRS, sheet)
    assert len(sheet.doubts) == 1 and not sheet.found
    look_at_one_length(subject, sheet)
    assert [one.key for one in sheet.found] == found
    assert len(sheet.doubts) == doubts
