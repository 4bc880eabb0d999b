"""Rows packed into one sequence that see each other, against rows with positions of their own."""

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
    kind="packing",
    says="With packing the loss of the very same rows is far higher.",
    cause="The packed rows share one mask and one count of positions, so each row reads the ones "
    "before it as its own beginning.",
    fix='packing_strategy="bfd", whose position_ids begin anew at each row',
    threads=("trl#3067", "trl#805", "trl#1230"),
    make=Variants(_build, broken={"strategy": "wrapped"}, twin={"strategy": "bfd"}),
    shows=lambda run: logged(run)[0] > 5,
    place="packing",
    lesson="07_never_stops",
)
