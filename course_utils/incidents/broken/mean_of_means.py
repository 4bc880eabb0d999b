"""A loop that averages the means of micro-batches whose rows are of very different length."""

import random

import torch
from torch import Tensor, nn

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Row, Variants, batches, of_loop, reply_row
from course_utils.reproductions.lesson_07.batches import Batch
from course_utils.reproductions.lesson_07.never_stops import base_model

NUM_STEPS, NUM_ROWS = 8, 16


def _rows(seed: int, tokenizer) -> list[Row]:
    """Three short answers to each long one: counting from some number."""
    drawn, rows = random.Random(seed), []
    for at in range(NUM_ROWS):
        first = drawn.randint(10, 99)
        said = " ".join(str(first + step) for step in range(12)) if at % 4 == 0 else str(first)
        chat = [{"role": "user", "content": f"{first}?"}, {"role": "assistant", "content": said}]
        rows.append(reply_row(chat, tokenizer))
    return rows


def _loss(model: nn.Module, rows: list[Row], pad: int, *, counted: bool) -> Tensor:
    """The loss of a step, one row a micro-batch."""
    micro = batches(rows, 1, pad)
    count = sum((batch["labels"][:, 1:] != -100).sum() for batch in micro)
    if counted:
        return sum(model(**batch, num_items_in_batch=count).loss for batch in micro)
    return sum(model(**batch).loss for batch in micro) / len(micro)


def _gradient(model: nn.Module, loss: Tensor) -> Tensor:
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))])


def _build(*, seed: int, counted: bool) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    rows, pad = _rows(seed, tokenizer), tokenizer.pad_token_id
    (whole,) = batches(rows, NUM_ROWS, pad)

    def loss(model: nn.Module, _batch: Batch) -> Tensor:
        return _loss(model, rows, pad, counted=counted)

    wanted, got = _gradient(model, model(**whole).loss), _gradient(model, loss(model, whole))
    cosine = torch.cosine_similarity(wanted, got, dim=0).item()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    facts = {"cosine with the whole batch": cosine}
    return of_loop(model, optimizer, [whole] * NUM_STEPS, loss=loss, facts=lambda: facts)


INCIDENT = Incident(
    name="mean_of_means",
    title="mean of micro-batch means",
    kind="normalisation",
    says="Batch size 1 with 16 accumulation steps trains worse than batch size 16.",
    cause="The loop divides each micro-batch by its own number of tokens, so a token of a long "
    "reply weighs less than one of a short reply.",
    fix="Divide the sum by the number of tokens of the whole step (num_items_in_batch).",
    threads=("transformers#34191", "trl#2175"),
    make=Variants(_build, broken={"counted": False}, twin={"counted": True}),
    shows=lambda run: run.facts()["cosine with the whole batch"] < 0.95,
    place="num_items_in_batch",
    lesson="08_batch_loss",
)
