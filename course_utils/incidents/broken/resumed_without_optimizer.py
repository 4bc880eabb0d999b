"""A run that resumes from a checkpoint with the model alone."""

import tempfile

from transformers import set_seed

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.resumed import STEPS, of_resumed
from course_utils.incidents.runs import Variants, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model


def _build(*, seed: int, save_only_model: bool) -> Run:
    tokenizer = zoo.load_tokenizer("tiny")
    rows = reply_rows(8 * STEPS, seed, tokenizer)

    def trainer(folder: str):
        settings = dict(output_dir=folder, save_only_model=save_only_model, save_strategy="no")
        model, pad = base_model(seed=seed), tokenizer.pad_token_id
        size = dict(max_steps=STEPS, per_device_train_batch_size=8)
        return plain_trainer(model, rows, pad, seed=seed, **settings, **size)

    def facts(resumed) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            whole = trainer(folder)
            set_seed(seed)
            whole.train()
        pairs = zip(resumed.model.parameters(), whole.model.parameters(), strict=True)
        return {"weights apart": max((a - b).abs().max().item() for a, b in pairs)}

    return of_resumed(trainer, facts)


INCIDENT = Incident(
    name="resumed_without_optimizer",
    title="resumed without the optimizer state",
    kind="resume",
    says="After resuming from the checkpoint the loss is higher than before, and the warm-up "
    "begins again.",
    cause="The checkpoint has no optimizer and no schedule, so AdamW and the warm-up start over.",
    fix="Set save_only_model=False.",
    threads=("transformers#33336",),
    make=Variants(_build, broken={"save_only_model": True}, twin={"save_only_model": False}),
    shows=lambda run: run.facts()["weights apart"] > 1e-4,
    place="optimizer",
)
