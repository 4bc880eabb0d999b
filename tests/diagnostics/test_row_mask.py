"""A mask that rows carry and the batch drops: diagnose names it, and no mask that was set aside."""

import pytest
import torch
from diagnosed_runs import sft

from course_utils import incidents, zoo
from course_utils.diagnostics import diagnose
from course_utils.reproductions.lesson_07 import batches

FULL = zoo.load_tokenizer("tiny").pad_token_id


def learns_all(rows):
    """A collator that takes the ids for the labels."""
    return batches.padded([(row["input_ids"], row["input_ids"]) for row in rows], FULL)


def found(trainer_or_model, **parts) -> list[tuple[str, str]]:
    return [(one.key, one.place) for one in diagnose(trainer_or_model, **parts).causes]


@pytest.mark.parametrize("variant", ["broken", "twin"])
def test_the_incident_is_named_with_the_line_of_its_collator_and_its_twin_is_not(variant):
    run = incidents.load_incident("mask_dropped_in_a_rewrite").make(variant, 0)
    causes = diagnose(run.trainer).causes
    assert [one.key for one in causes] == ["prompt_in_loss"] * (variant == "broken")
    for one in causes:
        assert "completion_mask, collate (mask_dropped_in_a_rewrite.py:" in one.place
        assert "-100 where completion_mask" in one.fix and "110 of the 110" in one.said[0]


def test_a_collator_that_somebody_wrote_for_sft_is_named():
    trainer = sft()
    trainer.data_collator = learns_all
    assert found(trainer)[0][0] == "prompt_in_loss" and "learns_all" in found(trainer)[0][1]
    assert found(sft()) == []


def test_whole_chats_that_somebody_asked_for_are_no_fault():
    assert found(sft(completion_only_loss=False)) == []


def test_labels_of_the_rows_are_a_mask_as_well():
    run = incidents.load_incident("marker_not_found").make("twin", 0)
    assert found(run.trainer) == []
    run.trainer.data_collator = learns_all
    assert found(run.trainer)[0][0] == "prompt_in_loss"


def test_a_mask_in_the_batch_of_a_loop_is_read():
    batch, tokenizer = batches.replies_learnt()
    batch["loss_mask"] = (batch["labels"] != -100).long()
    model = zoo.load_policy("tiny", device="cpu")
    assert found(model, batch=batch, tokenizer=tokenizer) == []
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    assert found(model, batch=batch, tokenizer=tokenizer)[0][0] == "prompt_in_loss"
    ends = batch["labels"].masked_fill(batch["loss_mask"] == 0, -100)
    ends[:, 0] = batch["input_ids"][:, 0]  # one token more, as ends that a library adds
    assert "prompt_in_loss" not in dict(found(model, batch=batch | {"labels": ends}))


def test_masked_words_are_no_mask_of_rows():
    batch, _ = batches.replies_learnt()
    labels = torch.where(torch.rand(batch["labels"].shape) < 0.15, batch["input_ids"], -100)
    hidden = batch["input_ids"].masked_fill(labels != -100, 5)
    parts = dict(input_ids=hidden, attention_mask=batch["attention_mask"], labels=labels)
    assert found(zoo.load_policy("tiny", device="cpu"), batch=parts) == []
