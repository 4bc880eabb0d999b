"""Rows cut before their reply begins, in an SFTTrainer that truncates no further."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, dataset_of, logged, moves, of_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model, sft_trainer


def _build(*, seed: int, room: int) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    rows = reply_rows(192, seed, tokenizer)
    trainer = sft_trainer(
        model,
        tokenizer,
        dataset=dataset_of((ids[:room], labels[:room]) for ids, labels in rows),
        max_length=None,
        max_steps=12,
        warmup_steps=4,
        logging_steps=1,
        seed=seed,
    )
    return of_trainer(trainer, moves(model))


INCIDENT = Incident(
    name="prompt_fills_the_room",
    title="max_length cuts off the replies",
    kind="labels",
    says="{'loss': 0.0, 'grad_norm': 0.0} in every step, with long prompts.",
    cause="The rows were cut before their reply begins, so no label is left; without a "
    "max_length of its own, SFTTrainer does not drop them.",
    fix="Raise max_length, or drop the rows whose reply does not fit.",
    threads=("trl#6668", "trl#3927", "trl#6320"),
    make=Variants(_build, broken={"room": 10}, twin={"room": 64}),
    shows=lambda run: max(logged(run)) == 0 and run.facts()["moved"] == 0,
    causes=("labels_masked",),
    place="labels",
    lesson="07_never_stops",
)
