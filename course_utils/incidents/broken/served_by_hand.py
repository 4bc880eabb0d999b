"""A model that is served with a prompt written by hand: one newline is missing."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import behaviour


def _build(*, seed: int, newline: bool) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), zoo.load_policy("tiny", device="cpu")
    rows = reply_rows(240, seed, tokenizer)
    trainer = plain_trainer(
        model, rows, tokenizer.pad_token_id, learning_rate=1e-4, max_steps=15, seed=seed
    )
    ask = str if newline else str.rstrip

    def facts() -> dict[str, float]:
        served, trained = behaviour(model, n=32, text=ask), behaviour(model, n=32)
        return {"right as served": served.right, "right as trained": trained.right}

    return of_trainer(trainer, facts, tokenizer=tokenizer)


INCIDENT = Incident(
    name="served_by_hand",
    title="prompt without the full generation prompt",
    kind="template",
    says="Good in the notebook, gibberish when served.",
    cause="The server builds the prompt by hand, without the newline that ends the template's "
    "generation prompt, so the model reads tokens it was not trained on.",
    fix="Use tokenizer.apply_chat_template(messages, add_generation_prompt=True) in both places.",
    threads=("open-r1#462", "OpenRLHF#393"),
    make=Variants(_build, broken={"newline": False}, twin={"newline": True}),
    shows=lambda run: run.facts()["right as served"] < 0.5 < run.facts()["right as trained"],
    place="chat_template",
    lesson="07_never_stops",
)
