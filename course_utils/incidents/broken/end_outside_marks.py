"""The template's generation block closes before the end of the turn."""

from datasets import Dataset

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, chats, ends, of_trainer
from course_utils.reproductions.lesson_07.batches import MARKED, MARKED_TO_THE_END
from course_utils.reproductions.lesson_07.never_stops import base_model, sft_trainer


def _build(*, seed: int, template: str) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    tokenizer.chat_template = template
    trainer = sft_trainer(
        model,
        tokenizer,
        dataset=Dataset.from_list([{"messages": chat} for chat in chats(480, seed)]),
        assistant_only_loss=True,
        max_steps=30,
        warmup_steps=4,
        logging_steps=1,
        seed=seed,
    )
    return of_trainer(trainer, ends(model))


INCIDENT = Incident(
    name="end_outside_marks",
    title="end of turn outside the generation block",
    kind="never_stops",
    says="With assistant_only_loss the loss falls, but the replies have no end.",
    cause="The template closes its generation block before the end of the turn, so the end token "
    "has no label.",
    fix="Write the end of the turn inside {% generation %}.",
    threads=("trl#5988", "trl#6044"),
    make=Variants(_build, broken={"template": MARKED}, twin={"template": MARKED_TO_THE_END}),
    shows=lambda run: run.facts()["stops"] < 0.25,
    place="chat_template",
    lesson="07_never_stops",
)
