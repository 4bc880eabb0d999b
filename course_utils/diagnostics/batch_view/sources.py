"""What `inspect_batch` can read: a batch, a DataLoader, a Trainer. Changes none of them."""

from collections.abc import Mapping

import torch
from torch import nn
from torch.utils.data import DataLoader

from course_utils.diagnostics.batch_view.case import (
    GENERATION,
    PAIRS,
    SCORES,
    TRAINING,
    Case,
    guess_kind,
)
from course_utils.diagnostics.batch_view.rows import first_rows, unchanged
from course_utils.diagnostics.batch_view.template import Template, template_of
from course_utils.diagnostics.batch_view.tokens import view_of
from course_utils.diagnostics.libraries.pairs import as_rows
from course_utils.diagnostics.libraries.trainer import of_columns
from course_utils.diagnostics.libraries.trl import adds_special_tokens
from course_utils.diagnostics.loss_kind import Loss, loss_of_batch
from course_utils.errors import BadRequest

LOSSES = {PAIRS: Loss.PAIRS, SCORES: Loss.SCORES}
LABELS_APART = {Loss.ROWS, Loss.SPANS, Loss.SEQ2SEQ}  # labels that stand beside no token of the ids
KINDS = {"RewardTrainer": SCORES, "DPOTrainer": PAIRS}
SAMPLING = {"GRPOTrainer", "RLOOTrainer"}  # what they learn from is not there before they run
BATCH = "give what the model gets: a Trainer, a DataLoader, or collator(rows) and its tokenizer"


def case_of(source: object, tokenizer: object, num_rows: int) -> Case:
    """Read `source` according to its type.

    Raises:
        BadRequest: it is of a kind that cannot be read, or there is no tokenizer for it.
    """
    if not isinstance(num_rows, int) or num_rows < 1:
        raise BadRequest(
            f"num_rows is {num_rows!r}", why="at least one row is read", fix="leave it out, or 1"
        )
    if hasattr(source, "data_collator"):
        own = tokenizer or getattr(source, "processing_class", None)
        return _of_trainer(source, tokenizer_of(own), num_rows)
    _is_readable(source)
    tokenizer = tokenizer_of(tokenizer)
    if isinstance(source, DataLoader):
        return _of_loader(source, tokenizer, num_rows)
    return _of_batch(source, tokenizer, is_whole_batch=True)


def _is_readable(source: object) -> None:
    """Say in a sentence why the argument is not a batch."""
    if isinstance(source, (Mapping, DataLoader)):
        return
    kind = type(source).__name__
    if hasattr(source, "decode") and hasattr(source, "eos_token_id"):
        saw, fix = f"the first argument is a tokenizer ({kind})", "inspect_batch(batch, tokenizer)"
    elif isinstance(source, nn.Module):
        saw, fix = f"the first argument is a model ({kind}), which holds no batch", BATCH
    elif isinstance(source, torch.Tensor):
        saw, fix = "the first argument is one tensor", 'inspect_batch({"input_ids": ids}, ...)'
    elif hasattr(source, "__next__"):
        saw = f"the first argument is an iterator ({kind}), which would lose its first batch here"
        fix = "give the DataLoader itself, or a batch that you took from it"
    elif hasattr(source, "column_names") or isinstance(source, (list, tuple)):
        saw = f"the first argument is rows ({kind}), not yet a batch"
        fix = "inspect_batch(collator(rows[:8]), tokenizer), or give the Trainer"
    else:
        saw, fix = f"the first argument is a {kind}", BATCH
    why = "a batch is a mapping with `input_ids`; its tokens are what is read here"
    raise BadRequest(saw, why=why, fix=fix)


def tokenizer_of(given: object) -> object:
    """The tokenizer that was given, or the one inside a processor."""
    tokenizer = getattr(given, "tokenizer", given)
    if hasattr(tokenizer, "decode") and hasattr(tokenizer, "eos_token_id"):
        return tokenizer
    raise BadRequest(
        "no tokenizer was given" if given is None else f"the tokenizer is a {type(given).__name__}",
        why="without a tokenizer an id is a number, and its end and padding are not known",
        fix="call inspect_batch(batch, tokenizer), with AutoTokenizer.from_pretrained(...)",
    )


def _of_batch(batch: Mapping, tokenizer, **settings) -> Case:
    template, loss = template_of(tokenizer), loss_of_batch(batch)
    view = view_of(tokens_of(batch, loss), tokenizer)
    kind = SCORES if loss in LABELS_APART else guess_kind(view, template)
    return _case(view, template, kind, tokenizer, loss=loss, **settings)


def tokens_of(batch: Mapping, loss: Loss) -> Mapping:
    """The batch without labels that are no labels of its tokens."""
    return {k: v for k, v in batch.items() if k != "labels"} if loss in LABELS_APART else batch


def _of_loader(loader: DataLoader, tokenizer, num_rows: int) -> Case:
    with unchanged(loader, loader.dataset, loader.sampler, loader.collate_fn):
        if loader.batch_size is None and loader.batch_sampler is None:
            [batch] = map(loader.collate_fn, first_rows(loader.dataset, 1))
        else:
            batch = loader.collate_fn(first_rows(loader.dataset, num_rows))
    return _of_batch(batch, tokenizer)


def _of_trainer(trainer, tokenizer, num_rows: int) -> Case:
    names = {base.__name__ for base in type(trainer).__mro__}
    kind = next((KINDS[name] for name in KINDS if name in names), TRAINING)
    stops_at = _stops_at(trainer) if kind != SCORES else ()
    if names & SAMPLING:
        kind, batch = GENERATION, _asked(trainer, tokenizer, num_rows)
    else:
        with unchanged(trainer.train_dataset, trainer.data_collator):
            rows = first_rows(trainer.train_dataset, num_rows)
            batch = trainer.data_collator(of_columns(trainer, rows))
    settings = {
        "max_length": getattr(trainer.args, "max_length", None),
        "is_packed": bool(getattr(trainer.args, "packing", False)),
        "stops_at": stops_at,
        "stop_texts": _stop_texts(trainer),
    }
    if kind in LOSSES:
        batch = as_rows(batch, trainer, tokenizer.pad_token_id)
    settings["loss"] = loss = LOSSES.get(kind) or loss_of_batch(batch, trainer.model)
    view = view_of(tokens_of(batch, loss), tokenizer, pairs=kind in LOSSES)
    kind = SCORES if loss in LABELS_APART else kind
    return _case(view, template_of(tokenizer, stops_at), kind, tokenizer, **settings)


def _asked(trainer, tokenizer, num_rows: int) -> Mapping:
    """The prompts that a trainer will sample replies to, rendered and padded as it does it."""
    with unchanged(trainer.train_dataset):
        prompts = [row["prompt"] for row in first_rows(trainer.train_dataset, num_rows)]
    if not isinstance(prompts[0], str):
        options = getattr(trainer, "chat_template_kwargs", None) or {}
        own = getattr(trainer, "chat_template", None)
        prompts = tokenizer.apply_chat_template(
            prompts, chat_template=own, add_generation_prompt=True, tokenize=False, **options
        )
    is_text = isinstance(trainer.train_dataset[0]["prompt"], str)
    return tokenizer(
        prompts,
        add_special_tokens=is_text and adds_special_tokens(trainer),
        padding=True,
        padding_side="left",
        return_tensors="pt",
    )


def _stops_at(trainer) -> tuple[int, ...]:
    of_model = getattr(getattr(trainer.model, "generation_config", None), "eos_token_id", None)
    ends = getattr(trainer, "eos_token_ids", of_model)
    return tuple(ends) if isinstance(ends, (list, tuple)) else () if ends is None else (ends,)


def _stop_texts(trainer) -> tuple[str, ...]:
    texts = getattr(getattr(trainer.model, "generation_config", None), "stop_strings", None) or ()
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _case(view, template: Template, kind: str, tokenizer, **settings) -> Case:
    ids = {"pad": tokenizer.pad_token_id, "bos": tokenizer.bos_token_id}
    return Case(view, template, kind, **ids, **settings)
