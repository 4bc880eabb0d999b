"""Rows packed into one sequence that attend to each other, against rows with own positions."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, logged, of_trainer
from course_utils.reproductions.lesson_07.never_stops import chats, sft_trainer


def _build(*, seed: int, strategy: str) -> Run:
    trainer = sft_trainer(
        zoo.load_policy("tiny", device="cpu"),
        zoo.load_tokenizer("tiny"),
        dataset=chats(400, seed),
        packing=True,
        packing_strategy=strategy,
        max_length=128,
        per_device_train_batch_size=4,
        learning_rate=1e-5,
        max_steps=6,
        logging_steps=1,
        seed=seed,
    )
    return of_trainer(trainer)


INCIDENT = Incident(
    name="packed_without_positions",
    title="packed rows attend to each other",
    kind="packing",
    says="With packing the loss of the same rows is far higher.",
    cause="The packed rows share one mask and one count of positions, so each row reads the "
    "previous ones as its own beginning.",
    fix='Use packing_strategy="bfd", whose position_ids restart at each row.',
    threads=("trl#3067", "trl#805", "trl#1230"),
    make=Variants(_build, broken={"strategy": "wrapped"}, twin={"strategy": "bfd"}),
    shows=lambda run: logged(run)[0] > 5,
    place="packing",
    lesson="07_never_stops",
)
