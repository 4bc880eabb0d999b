"""A learning rate of 5e-2 for full fine-tuning with AdamW."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, logged, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model


def _build(*, seed: int, learning_rate: float) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    trainer = plain_trainer(
        model,
        reply_rows(320, seed, tokenizer),
        tokenizer.pad_token_id,
        learning_rate=learning_rate,
        seed=seed,
    )
    return of_trainer(trainer, tokenizer=tokenizer)


INCIDENT = Incident(
    name="rate_5e_2",
    title="learning rate far too high",
    kind="rate",
    says="The loss falls, jumps to 6 and stays there.",
    cause="The learning rate is far too high for fine-tuning with AdamW.",
    fix="Use a hundredth of the learning rate.",
    threads=("LLaVA#1375", "LLaVA#1301"),
    make=Variants(_build, broken={"learning_rate": 5e-2}, twin={"learning_rate": 5e-4}),
    shows=lambda run: sum(logged(run)[-5:]) / 5 > logged(run)[0],
    causes=("rate_unusual", "rate_too_high", "diverged"),
    place="learning_rate",
)
