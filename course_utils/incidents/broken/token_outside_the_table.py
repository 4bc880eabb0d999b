"""A token is added to the tokenizer, and the model's table of embeddings keeps its size."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import (
    Variants,
    chats,
    error,
    of_trainer,
    plain_trainer,
    reply_row,
)

NEW = "<|sum|>"


def _build(*, seed: int, resize: bool) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), zoo.load_policy("tiny", device="cpu")
    tokenizer.add_special_tokens({"additional_special_tokens": [NEW]})
    if resize:
        model.resize_token_embeddings(len(tokenizer))
    rows = []
    for asked, said in chats(192, seed):
        rows.append(reply_row([asked, said | {"content": NEW + said["content"]}], tokenizer))
    trainer = plain_trainer(model, rows, tokenizer.pad_token_id, max_steps=12, seed=seed)
    return of_trainer(trainer, raises=IndexError, tokenizer=tokenizer)


INCIDENT = Incident(
    name="token_outside_the_table",
    title="token id outside the embedding table",
    kind="embeddings",
    says="IndexError: index out of range in self (on a GPU: device-side assert triggered).",
    cause="The new token's id is beyond the last row of the embedding table.",
    fix="Call model.resize_token_embeddings(len(tokenizer)).",
    threads=("transformers#12763", "transformers#15867"),
    make=Variants(_build, broken={"resize": False}, twin={"resize": True}),
    shows=lambda run: "index out of range" in error(run),
    causes=("index_outside",),
    place="embed_tokens",
)
