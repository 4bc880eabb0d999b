"""Whole JSON documents: their nesting depth is checked before they are parsed."""

import json

import pytest

from course_utils.explain import explain
from course_utils.explain.paste.document import MAX_DEPTH, read_document

ROW = {"loss": 0.5, "step": 1}


@pytest.mark.parametrize("text", ["[" * 9999, '{"a":' * 9999, '[{"loss": 1, "a": ' + "[" * 9999])
def test_brackets_without_end_are_no_document(text):
    assert read_document(text) is None


def test_depth_counts_brackets_that_are_open_and_none_within_words():
    row = ROW | {"note": r"[{\"" * MAX_DEPTH, "nested": [[]] * MAX_DEPTH}
    entry, note = read_document(json.dumps({"log_history": [row]}))
    assert entry.numbers == {"loss": 0.5, "step": 1.0} and note.text == row["note"]


def test_the_words_of_a_document_are_heard():
    found = explain(json.dumps([ROW, {"error": "torch.OutOfMemoryError: CUDA out of memory."}]))
    assert [one.key for one in found.causes] == ["cuda_memory"]
