"""Images that a collator leaves out: diagnose names it, and no batch that has none to give."""

import pytest

from course_utils import incidents
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.looks.images import look_at_images
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import of_parts, of_trainer


def made(variant: str):
    return incidents.load_incident("images_never_arrive").make(variant, 0)


@pytest.mark.parametrize("variant", ["broken", "twin"])
def test_the_incident_is_named_with_the_line_of_its_collator_and_its_twin_is_not(variant):
    run = made(variant)
    run.trainer.processing_class = run.parts["tokenizer"]
    causes = diagnose(run.trainer).causes
    assert [one.key for one in causes] == ["images_missing"] * (variant == "broken")
    for one in causes:
        assert "pixel_values, collate (images_never_arrive.py:" in one.place
        assert "8 of 8 rows hold 32 image tokens (<image>, id 320)" in one.said[0]
        assert one.said[1] == "the rows of the data set have pixel_values"


def look(model, batch) -> Sheet:
    sheet = Sheet()
    look_at_images(of_parts(model, batch=batch), sheet)
    return sheet


def test_text_alone_is_no_fault_of_a_model_that_can_see():
    subject = of_trainer(made("broken").trainer)
    text = {name: value.clone() for name, value in subject.batch.items()}
    text["input_ids"][text["input_ids"] == 320] = 40
    assert not look(subject.model, text).found and "images" in look(subject.model, text).shown
    assert not look(subject.model, subject.batch | {"image_embeds": 0}).found
    assert look(subject.model, subject.batch).found  # a loop of one's own


def test_a_model_that_cannot_see_is_not_asked_for_images():
    subject = of_trainer(made("broken").trainer)
    subject.model.config.vision_config = None
    assert not look(subject.model, subject.batch).found
