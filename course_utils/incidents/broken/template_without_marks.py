"""A mask of the assistant's tokens from a template without generation blocks."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import (
    Row,
    Variants,
    chats,
    logged,
    moves,
    of_trainer,
    plain_trainer,
)
from course_utils.reproductions.lesson_07.batches import MARKED_TO_THE_END
from course_utils.reproductions.lesson_07.never_stops import base_model


def _row(chat: list[dict], tokenizer) -> Row:
    said = tokenizer.apply_chat_template(
        chat, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
    )
    pairs = zip(said["input_ids"], said["assistant_masks"], strict=True)
    return said["input_ids"], [i if learnt else -100 for i, learnt in pairs]


def _build(*, seed: int, template: str | None) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    tokenizer.chat_template = template or tokenizer.chat_template
    rows = [_row(chat, tokenizer) for chat in chats(96, seed)]
    trainer = plain_trainer(model, rows, tokenizer.pad_token_id, seed=seed, max_steps=12)
    return of_trainer(trainer, moves(model), tokenizer=tokenizer)


INCIDENT = Incident(
    name="template_without_marks",
    title="template without a generation block",
    kind="labels",
    says="loss 0.0 from the first step; sometimes 'example has no assistant tokens'.",
    cause="The chat template has no {% generation %} block, so the mask of the assistant's "
    "tokens is all zero and every label is -100.",
    fix="Use a template with {% generation %} around the assistant's text.",
    threads=("Qwen3#1522", "trl#4201", "marin#7237"),
    make=Variants(_build, broken={"template": None}, twin={"template": MARKED_TO_THE_END}),
    shows=lambda run: max(logged(run)) == 0 and run.facts()["moved"] == 0,
    causes=("labels_masked",),
    place="chat_template",
    lesson="07_never_stops",
)
