"""Ten steps of warm-up in which a new model's loss stays near that of guessing."""

import math

from transformers import AutoModelForCausalLM

from course_utils import zoo
from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.runs import logged, of_trainer, plain_trainer, reply_rows


def _make(seed: int) -> Run:
    tokenizer, config = zoo.load_tokenizer("tiny"), zoo.load_policy("tiny", device="cpu").config
    model = AutoModelForCausalLM.from_config(config)  # of random weights
    rows = [(ids, ids) for ids, _labels in reply_rows(16 * 40, seed, tokenizer)]
    trainer = plain_trainer(
        model,
        rows,
        tokenizer.pad_token_id,
        learning_rate=2e-3,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=20,
        max_steps=40,
        seed=seed,
    )
    return of_trainer(trainer, lambda: {"of guessing": math.log(config.vocab_size)})


def _holds(run: Run) -> bool:
    losses, guessing = logged(run), run.facts()["of guessing"]
    return losses[2] > 0.9 * guessing and losses[-1] < 0.5 * guessing


LOOK_ALIKE = LookAlike(
    name="flat_through_the_warmup",
    title="flat loss during the warm-up",
    looks="The loss stays near ln(vocabulary), the loss of guessing, for the first steps.",
    because="The model is new and the learning rate is still climbing from 0; the loss falls "
    "afterwards.",
    threads=("GPT2-Chinese#60",),
    make=_make,
    holds=_holds,
)
