"""A warm-up of 2000 steps in a run of 20: the learning rate that was set is never reached."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, logged, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model

RATE = 1e-3


def _build(*, seed: int, warmup_steps: int) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    trainer = plain_trainer(
        model,
        reply_rows(320, seed, tokenizer),
        tokenizer.pad_token_id,
        learning_rate=RATE,
        warmup_steps=warmup_steps,
        seed=seed,
    )
    return of_trainer(trainer, tokenizer=tokenizer)


INCIDENT = Incident(
    name="warmup_longer_than_the_run",
    title="warm-up longer than the run",
    kind="schedule",
    says="Hard to converge; the learning rate that I set never appears in the log.",
    cause="The warm-up has more steps than the run, so the learning rate only climbs and ends "
    "far below the value that was set.",
    fix="Use a warm-up of a tenth of the run's steps.",
    threads=("GPT2-Chinese#60",),
    make=Variants(
        _build,
        broken={"warmup_steps": 2000},
        twin={"warmup_steps": 2},
        mended={"warmup_steps": 0.1},
    ),
    shows=lambda run: max(logged(run, "learning_rate")) < 0.1 * RATE,
    causes=("schedule_ends_early",),
    place="warmup_steps",
)
