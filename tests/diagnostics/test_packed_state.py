"""Rows that positions alone keep apart: named in a hybrid model, and in no other."""

import pytest
import torch
from transformers import DataCollatorWithFlattening

from course_utils import incidents, zoo
from course_utils.diagnostics import diagnose
from course_utils.incidents.broken.hybrid_packed_by_positions import hybrid
from course_utils.incidents.runs import reply_rows

TOKENIZER = zoo.load_tokenizer("tiny")


def packed() -> dict:
    rows = reply_rows(4, 0, TOKENIZER)
    columns = [{"input_ids": ids, "labels": labels} for ids, labels in rows]
    return DataCollatorWithFlattening()(columns)


def found(model, batch: dict):
    return diagnose(model, batch=batch, tokenizer=TOKENIZER)


@pytest.mark.parametrize("variant", ["broken", "twin"])
def test_the_incident_is_named_with_its_layer_and_its_twin_is_not(variant):
    run = incidents.load_incident("hybrid_packed_by_positions").make(variant, 0)
    causes = diagnose(run.trainer).causes
    assert [one.key for one in causes] == ["packed_state_leak"] * (variant == "broken")
    for one in causes:
        assert "linear_attn" in one.place and "one row per sequence" in one.fix
        assert "7 packed rows behind the first" in one.said[0]


def test_rows_that_a_dense_model_keeps_apart_are_no_fault():
    report = found(zoo.load_policy("tiny", device="cpu"), packed())
    assert "packed_state_leak" not in [one.key for one in report.causes]


def test_a_hybrid_on_padded_rows_or_on_one_document_is_no_fault():
    torch.manual_seed(0)
    model = hybrid(len(TOKENIZER), TOKENIZER.eos_token_id, 0)
    assert "packed_state_leak" in [one.key for one in found(model, packed()).causes]
    batch = packed()
    batch["position_ids"] = torch.arange(batch["input_ids"].shape[1])[None]
    assert "packed_state_leak" not in [one.key for one in found(model, batch).causes]
