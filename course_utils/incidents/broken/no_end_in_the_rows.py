"""Rows of ids made by hand, to which nobody gave an end."""

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
    kind="never_stops",
    says="Answers in my data have 10 to 15 tokens; the model writes 50 when it may write 50.",
    cause="The tokenizer appends no end, and the rows are prompt and reply alone.",
    fix="append tokenizer.eos_token to each reply (add_eos_token=True where there is one)",
    threads=("trl#734", "trl#1623", "trl#3091"),
    make=Variants(_build, broken={"end": False}, twin={"end": True}),
    shows=lambda run: run.facts()["stops"] < 0.25,
    place="eos_token",
    lesson="07_never_stops",
)
