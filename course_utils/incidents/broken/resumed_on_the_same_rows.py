"""A resumed epoch begins at its first row: half of the rows are seen twice, half never."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.resumed import STEPS, of_resumed
from course_utils.incidents.runs import Variants, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.batches import padded
from course_utils.reproductions.lesson_07.never_stops import base_model

SIZE = 8


def _build(*, seed: int, ignore_data_skip: bool) -> Run:
    tokenizer, seen = zoo.load_tokenizer("tiny"), []
    rows = reply_rows(SIZE * STEPS, seed, tokenizer)  # one epoch

    def collate(batch: list[dict]) -> dict:
        seen.extend(tuple(row["input_ids"]) for row in batch)
        return padded([(r["input_ids"], r["labels"]) for r in batch], tokenizer.pad_token_id)

    def trainer(folder: str):
        return plain_trainer(
            base_model(seed=seed),
            rows,
            tokenizer.pad_token_id,
            collate=collate,
            seed=seed,
            output_dir=folder,
            ignore_data_skip=ignore_data_skip,
            max_steps=STEPS,
            per_device_train_batch_size=SIZE,
        )

    def facts(_resumed) -> dict[str, float]:
        return {"rows seen": len(set(seen)) / len(rows)}

    return of_resumed(trainer, facts)


INCIDENT = Incident(
    name="resumed_on_the_same_rows",
    title="resumed epoch repeats its rows",
    kind="resume",
    says="After resuming, the training loss is lower than it should be and the model overfits.",
    cause="The resumed epoch does not skip the rows already trained on, and the sampler's seed "
    "gives the same order again.",
    fix="Set ignore_data_skip=False.",
    threads=("transformers#11323",),
    make=Variants(_build, broken={"ignore_data_skip": True}, twin={"ignore_data_skip": False}),
    shows=lambda run: run.facts()["rows seen"] < 0.9,
    place="ignore_data_skip",
)
