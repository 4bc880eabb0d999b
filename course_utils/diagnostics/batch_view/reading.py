"""`inspect_batch`: reads a batch token by token and says what is wrong with it. Changes nothing."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice

import torch

from course_utils.diagnostics.batch_view import ends, places, prompts
from course_utils.diagnostics.batch_view.case import (
    PAIRS,
    SCORES,
    TRAINING,
    Case,
    Finding,
    guess_kind,
)
from course_utils.diagnostics.batch_view.report import BatchReport
from course_utils.diagnostics.batch_view.template import Template, template_of
from course_utils.diagnostics.batch_view.tokens import view_of
from course_utils.errors import BadRequest

# In the order in which they are told: what spoils most comes first.
LOOKS = (
    ends.nothing_is_learnt,
    places.labels_are_shifted,
    places.padding_is_learnt,
    places.mask_has_holes,
    ends.end_is_masked,
    ends.end_is_missing,
    ends.stops_elsewhere,
    prompts.template_differs,
    places.begins_twice,
    places.pads_on_the_wrong_side,
    places.padding_is_attended,
    places.documents_leak,
    places.predicts_across,
    places.several_replies,
    prompts.prompt_is_learnt,
)


def inspect_batch(
    source: object, tokenizer: object = None, *, serving: object = None, num_rows: int = 8
) -> BatchReport:
    """Read what a model is given: which tokens are learnt, read and hidden, and what is wrong.

    Args:
        source: a Trainer (SFT, DPO, reward, or any with a `data_collator`), whose first rows are
            collated as it does it itself; or a batch, a mapping with `input_ids` (B, T).
        tokenizer: of the batch; a Trainer's own is taken where none is given.
        serving: the tokenizer that will serve the model, if it is another one.
        num_rows: how many rows are shown; of a Trainer, how many are read.

    The trainer, its model, its data and the random state stay as they are. Only these rows are
    looked at; no text is judged.

    Raises:
        BadRequest: there are no token ids, no tokenizer, or no data to read.
    """
    is_trainer = hasattr(source, "data_collator")
    tokenizer = tokenizer or (_tokenizer_of(source) if is_trainer else None)
    if tokenizer is None:
        raise BadRequest(
            "no tokenizer was given",
            why="without it an id is a number, and its end and padding are not known",
            fix="call inspect_batch(batch, tokenizer)",
        )
    case = _of_trainer(source, tokenizer, num_rows) if is_trainer else _of_batch(source, tokenizer)
    case = _with_serving(case, serving)
    found = [finding for look in LOOKS if (finding := look(case))]
    return BatchReport(case, _faults_first(found), num_shown=num_rows)


def _faults_first(found: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda finding: not finding.is_fault))


def _of_batch(batch: Mapping, tokenizer) -> Case:
    template = template_of(tokenizer)
    view = view_of(batch, tokenizer)
    kind = guess_kind(view, template)
    return _case(view, template, kind, tokenizer)


def _of_trainer(trainer, tokenizer, num_rows: int) -> Case:
    names = {base.__name__ for base in type(trainer).__mro__}
    kind = SCORES if "RewardTrainer" in names else PAIRS if "DPOTrainer" in names else TRAINING
    with _same_random_state():
        batch = trainer.data_collator(_first_rows(trainer, num_rows))
    stops_at = _stops_at(trainer.model) if kind != SCORES else ()
    template = template_of(tokenizer, stops_at)
    view = view_of(batch, tokenizer, pairs=kind != TRAINING)
    settings = {
        "max_length": getattr(trainer.args, "max_length", None),
        "is_packed": bool(getattr(trainer.args, "packing", False)),
        "stops_at": stops_at,
    }
    return _case(view, template, kind, tokenizer, **settings)


def _case(view, template: Template, kind: str, tokenizer, **settings) -> Case:
    ids = {"pad": tokenizer.pad_token_id, "bos": tokenizer.bos_token_id}
    return Case(view, template, kind, **ids, **settings)


def _with_serving(case: Case, serving) -> Case:
    if serving is None:
        return case
    return Case(**{**vars(case), "serving": template_of(serving)})


def _tokenizer_of(trainer) -> object:
    processor = getattr(trainer, "processing_class", None)
    return getattr(processor, "tokenizer", processor)


def _first_rows(trainer, num_rows: int) -> list[dict]:
    """The rows as the trainer's own loader gets them: without the columns that no one reads."""
    dataset = trainer.train_dataset
    if dataset is None:
        raise BadRequest(
            "the trainer has no train_dataset",
            why="its first rows are what is read here",
            fix="give a batch and a tokenizer instead",
        )
    rows = list(islice(dataset, num_rows))
    columns = getattr(trainer, "_signature_columns", None)
    if not getattr(trainer.args, "remove_unused_columns", False):
        return rows
    if columns is None:
        before = vars(trainer).get("_signature_columns")
        trainer._set_signature_columns_if_needed()
        columns, trainer._signature_columns = trainer._signature_columns, before
    kept = {*columns, "label", "label_ids"}
    return [{key: value for key, value in row.items() if key in kept} for row in rows]


def _stops_at(model) -> tuple[int, ...]:
    ends = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    return tuple(ends) if isinstance(ends, (list, tuple)) else () if ends is None else (ends,)


@contextmanager
def _same_random_state() -> Iterator[None]:
    """A collator may draw; the run that follows must not notice."""
    state = random.getstate()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(state)
