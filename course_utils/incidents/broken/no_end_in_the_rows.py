"""Rows of ids made by hand, without an end token."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, ends, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model


def _build(*, seed: int, end: bool) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    rows = reply_rows(480, seed, tokenizer)
    rows = rows if end else [(ids[:-1], labels[:-1]) for ids, labels in rows]
    trainer = plain_trainer(model, rows, tokenizer.pad_token_id, seed=seed, max_steps=30)
    return of_trainer(trainer, ends(model), tokenizer=tokenizer)


INCIDENT = Incident(
    name="no_end_in_the_rows",
    title="no end token in the rows",
    kind="never_stops",
    says="Answers in my data have 10 to 15 tokens; the model always writes 50, the limit.",
    cause="The rows have no end token after the reply, and the tokenizer appends none, so "
    "nothing teaches the model to stop.",
    fix="Append tokenizer.eos_token to each reply, with a label (add_eos_token=True if the "
    "tokenizer has it).",
    threads=("trl#734", "trl#1623", "trl#3091"),
    make=Variants(_build, broken={"end": False}, twin={"end": True}),
    shows=lambda run: run.facts()["stops"] < 0.25,
    place="eos_token",
    lesson="07_never_stops",
)
