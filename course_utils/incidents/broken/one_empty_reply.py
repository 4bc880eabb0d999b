"""A loop that averages each row over its own tokens meets a row that has none."""

import torch
from torch import Tensor, nn

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Row, Variants, batches, of_loop, reply_rows
from course_utils.reproductions.lesson_07.batches import Batch
from course_utils.reproductions.lesson_07.never_stops import base_model

STEPS, SIZE, BAD_STEP = 10, 8, 6


def _row_means(model: nn.Module, batch: Batch, *, least: int) -> Tensor:
    """The mean over rows of their mean token losses; a row counts `least` tokens or more."""
    logits, targets = model(batch["input_ids"]).logits[:, :-1], batch["labels"][:, 1:]
    mask = (targets != -100).float()
    logp = logits.log_softmax(-1).gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1)
    return -((logp * mask).sum(1) / mask.sum(1).clamp(min=least)).mean()


def _without_reply(row: Row) -> Row:
    """What a filter left of a row whose reply was taken out: its prompt."""
    ids, labels = row
    end = next(at for at, label in enumerate(labels) if label != -100)
    return ids[:end], labels[:end]


def _build(*, seed: int, empty: bool, least: int = 0) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    rows = reply_rows(SIZE * STEPS, seed, tokenizer)
    if empty:
        at = BAD_STEP * SIZE + seed % SIZE
        rows[at] = _without_reply(rows[at])
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=3e-4)
    return of_loop(
        model,
        optimizer,
        batches(rows, SIZE, tokenizer.pad_token_id),
        loss=lambda model, batch: _row_means(model, batch, least=least),
        facts=lambda: {"dead weights": float(sum(int((~w.isfinite()).sum()) for w in weights))},
        tokenizer=tokenizer,
    )


INCIDENT = Incident(
    name="one_empty_reply",
    title="mean over a row without labels",
    kind="bad_numbers",
    says="Everything is fine for some steps, then loss nan and grad_norm nan from there on.",
    cause="One row has an empty reply; its mean is 0 divided by 0, and one such row makes the "
    "whole update nan.",
    fix="Divide by mask.sum(1).clamp(min=1), or drop rows without a label.",
    threads=("verl#782", "ChatGLM-Efficient-Tuning#49"),
    make=Variants(
        _build,
        broken={"empty": True},
        twin={"empty": False},
        mended={"empty": True, "least": 1},
    ),
    shows=lambda run: run.facts()["dead weights"] > 0,
    causes=("nan_weights", "nan_now_and_then", "nan_gradient"),
    place="labels",
    lesson="04_verl_collapse",
)
