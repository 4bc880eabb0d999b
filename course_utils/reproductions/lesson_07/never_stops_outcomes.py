"""Outcomes of `never_stops` runs, without their trainers; each run is trained once."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import torch
from transformers import set_seed

from course_utils import zoo
from course_utils.reproductions.lesson_07.never_stops import (
    BATCH_SIZE,
    NUM_STEPS,
    Behaviour,
    Collate,
    EndWatcher,
    base_model,
    behaviour,
    losses,
    prepared,
    sft_trainer,
)


@dataclass(frozen=True)
class Outcome:
    """The result of one run of `NUM_STEPS` steps."""

    losses: tuple[float, ...]
    logp_before: float  # of the end after the answer, in nats
    logp_after: float
    behaviour: Behaviour


def outcome(
    collate: Callable[[list[dict], int], dict[str, torch.Tensor]], *, pad: str, seed: int
) -> Outcome:
    """Train a base model with the collator and the pad token of these names.

    The same batches on the same seed are trained once: what stands in padding does not count.
    """
    tokenizer = zoo.load_tokenizer("tiny")
    tokenizer.pad_token = pad

    def padded(rows: list[dict]) -> dict[str, torch.Tensor]:
        return collate(rows, tokenizer.pad_token_id)

    key = _fingerprint(padded, seed)
    if key not in _OUTCOMES:
        watcher, model = EndWatcher(every=NUM_STEPS), base_model(seed=seed)
        given = {"dataset": prepared(seed=seed), "collate": padded, "callbacks": (watcher,)}
        trainer = sft_trainer(model, tokenizer, seed=seed, **given)
        set_seed(seed)
        trainer.train()
        logged = tuple(losses(trainer))
        _OUTCOMES[key] = Outcome(logged, watcher.logps[0], watcher.logps[-1], behaviour(model))
    return _OUTCOMES[key]


_OUTCOMES: dict[str, Outcome] = {}


def _fingerprint(collate: Collate, seed: int) -> str:
    digest, rows = hashlib.sha256(str(seed).encode()), list(prepared(seed=seed))
    for start in range(0, len(rows), BATCH_SIZE):
        batch = collate([dict(row) for row in rows[start : start + BATCH_SIZE]])
        is_text = batch["attention_mask"] != 0
        for key in ("input_ids", "labels", "attention_mask"):
            value = batch[key].masked_fill(~is_text, 0) if key == "input_ids" else batch[key]
            digest.update(f"{key} {tuple(value.shape)}".encode())
            digest.update(value.long().numpy().tobytes())
    return digest.hexdigest()
