"""Labels begin after a response marker that ends in a space, which belongs to the next word."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import (
    Row,
    Variants,
    chats,
    logged,
    moves,
    of_trainer,
    plain_trainer,
)
from course_utils.reproductions.lesson_07.batches import prompt_and_reply
from course_utils.reproductions.lesson_07.never_stops import base_model


def _row(chat: list[dict], tokenizer, marker: list[int]) -> Row:
    *asked, said = chat
    told = [*asked, said | {"content": f"Answer: the sum is {said['content']}"}]
    prompt, reply = prompt_and_reply(told, tokenizer)
    ids, size = prompt + reply, len(marker)
    ends = [at + size for at in range(len(ids)) if ids[at : at + size] == marker]
    start = ends[-1] if ends else len(ids)
    return ids, [-100] * start + ids[start:]


def _build(*, seed: int, marker: str) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    ids = tokenizer(marker, add_special_tokens=False)["input_ids"]
    rows = [_row(chat, tokenizer, ids) for chat in chats(96, seed)]
    trainer = plain_trainer(model, rows, tokenizer.pad_token_id, seed=seed, max_steps=12)
    return of_trainer(trainer, moves(model), tokenizer=tokenizer)


INCIDENT = Incident(
    name="marker_not_found",
    title="response marker not found",
    kind="labels",
    says="'Could not find response key … will be ignored in loss calculation', and the loss is 0.",
    cause="The response template 'Answer: ' ends in a separate token for the space, which in the "
    "rows is part of the next word, so it is never found.",
    fix="Use the response template without the space at its end.",
    threads=("trl#598", "trl#1183", "trl#1053"),
    make=Variants(_build, broken={"marker": "Answer: "}, twin={"marker": "Answer:"}),
    shows=lambda run: max(logged(run)) == 0 and run.facts()["moved"] == 0,
    rebuilt="TRL took DataCollatorForCompletionOnlyLM out; its search for the marker is here.",
    causes=("labels_masked",),
    place="labels",
    lesson="07_never_stops",
)
