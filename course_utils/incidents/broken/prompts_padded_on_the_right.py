"""Prompts of different lengths, padded on the right for generation."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import behaviour


def _build(*, seed: int, side: str) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), zoo.load_policy("tiny", device="cpu")
    rows = reply_rows(240, seed, tokenizer)
    trainer = plain_trainer(
        model, rows, tokenizer.pad_token_id, learning_rate=1e-4, max_steps=15, seed=seed
    )

    def facts() -> dict[str, float]:
        """In batches, and one prompt at a time."""
        alone = behaviour(model, n=32)  # padding on the left changes nothing
        together = behaviour(model, n=32, side=side)
        same = [a == b for a, b in zip(alone.replies, together.replies, strict=True)]
        return {"same as alone": sum(same) / len(same), "right": together.right}

    return of_trainer(trainer, facts, tokenizer=tokenizer)


INCIDENT = Incident(
    name="prompts_padded_on_the_right",
    title="right padding for generation",
    kind="padding_side",
    says="Batched generation gives different answers than one prompt at a time.",
    cause="With right padding, pad tokens stand between the prompt and its reply.",
    fix='Set padding_side="left" for generation.',
    threads=("transformers#25790", "unsloth#3699", "transformers#26072"),
    make=Variants(_build, broken={"side": "right"}, twin={"side": "left"}),
    shows=lambda run: run.facts()["same as alone"] < 0.95,
    place="padding_side",
    lesson="07_never_stops",
)
