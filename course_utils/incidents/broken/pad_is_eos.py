"""Padding and end are one token, and the collator masks every label that is padding."""

from transformers import DataCollatorForLanguageModeling

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, ends, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model


def _build(*, seed: int, pad: str) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    tokenizer.pad_token, tokenizer.padding_side = pad, "right"
    trainer = plain_trainer(
        model,
        reply_rows(480, seed, tokenizer),
        tokenizer.pad_token_id,
        collate=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        seed=seed,
        max_steps=30,
    )
    trainer.train_dataset = trainer.train_dataset.remove_columns("labels")
    return of_trainer(trainer, ends(model), tokenizer=tokenizer)


INCIDENT = Incident(
    name="pad_is_eos",
    title="pad token is the end token",
    kind="never_stops",
    says="The fine-tuned model generates until max_new_tokens; the loss went down as it should.",
    cause="pad_token is eos_token, and the collator gives every pad id the label -100, including "
    "the ends of the replies.",
    fix="Use a pad token that no reply contains, such as '<|endoftext|>'.",
    threads=("trl#1623", "trl#976", "unsloth#416"),
    make=Variants(_build, broken={"pad": "<|im_end|>"}, twin={"pad": "<|endoftext|>"}),
    shows=lambda run: run.facts()["stops"] < 0.25,
    place="pad_token",
    lesson="07_never_stops",
)
