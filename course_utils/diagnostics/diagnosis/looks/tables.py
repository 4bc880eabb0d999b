"""Checks that tokenizer, embeddings and settings agree on token ids and end tokens."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import SCORES, Subject
from course_utils.diagnostics.reach.groups import embeddings
from course_utils.diagnostics.reach.reading import base_of

AT_THE_MEAN = 0.99  # cosine with the mean row: resizing draws new rows around it


def look_at_tables(subject: Subject, sheet: Sheet) -> None:
    for what, look in (
        ("ids", _ids_fit),
        ("tied embeddings", _ties_hold),
        ("new tokens", _new_tokens_train),
        ("the pad token", _pad_of_scores),
    ):
        with sheet.trying(what):
            look(subject, sheet)


def tables_of(subject: Subject) -> tuple[Tensor | None, Tensor | None]:
    """The weights of input and output embedding, if the model has them, and has them here."""
    weights = (getattr(layer, "weight", None) for layer in embeddings(subject.model))
    table, head = (one if one is not None and one.numel() else None for one in weights)
    return table, head


def ids_of(batch) -> Tensor | None:
    ids = batch.get("input_ids") if isinstance(batch, Mapping) else None
    return ids if isinstance(ids, Tensor) and ids.numel() else None


def _ids_fit(subject: Subject, sheet: Sheet) -> None:
    table, _ = tables_of(subject)
    ids = ids_of(subject.rows)
    if table is None or (ids is None and subject.tokenizer is None):
        return
    rows = len(table)
    largest = int(ids.max()) if ids is not None else -1
    size = len(subject.tokenizer) if subject.tokenizer is not None else 0
    if largest >= rows:
        name = _name_of(subject.tokenizer, largest)
        said = f"the largest id of the batch is {largest}{name}, and the embedding has {rows} rows"
        why = "the batch holds token ids for which the embedding has no row"
        sheet.find("index_outside", COUNTED, said, place="embed_tokens", why=why)
    elif size > rows:
        said = f"the tokenizer has {size} tokens, and the embedding {rows} rows"
        why = "the tokenizer knows tokens for which the embedding has no row"
        sheet.find("index_outside", MEASURED, said, place="embed_tokens", why=why)
    else:
        sheet.clear("ids", f"{size or largest + 1} tokens, {rows} rows of the embedding")


def _name_of(tokenizer: Any, one: int) -> str:
    """What the tokenizer calls an id, and whether it pads with it."""
    if tokenizer is None or one >= len(tokenizer):
        return ""
    pads = ", with which rows are padded" * (one == tokenizer.pad_token_id)
    return f" ({tokenizer.convert_ids_to_tokens(one)!r}{pads})"


def _ties_hold(subject: Subject, sheet: Sheet) -> None:
    table, head = tables_of(subject)
    config = getattr(subject.model, "config", None)
    if table is None or head is None or not getattr(config, "tie_word_embeddings", False):
        return
    if getattr(config, "is_encoder_decoder", False):
        table = _read_by_decoder(subject.model, table)
    if table.shape != head.shape:
        return  # no two that could be one
    if table.data_ptr() == head.data_ptr():
        sheet.clear("tied embeddings", "one tensor")
        return
    if _is_kept_beside(subject, head) or _is_kept_beside(subject, table):
        sheet.clear("tied embeddings", "two tensors, the trained one kept beside the model by PEFT")
        return
    apart = float((table.detach().float() - head.detach().float()).abs().max())
    own = {id(weight) for weight in subject.model.parameters()}
    if not apart and not own & {id(table), id(head)}:
        sheet.clear("tied embeddings", "computed from one tensor: PEFT trains some of its rows")
        return
    said = f"the configuration ties them, and they are two tensors up to {apart:.2g} apart"
    trains = [n for n, p in (("embed_tokens", table), ("lm_head", head)) if p.requires_grad]
    more = (f"{' and '.join(trains)} alone would be trained",) if len(trains) == 1 else ()
    why = "input and output embedding are meant to be one tensor and are two"
    sheet.find("tie_broken", MEASURED, said, *more, place="lm_head, embed_tokens", why=why)


def _read_by_decoder(model: nn.Module, table: Tensor) -> Tensor:
    """The table to which a head is tied: the decoder's, which may be another than the encoder's."""
    decoder = getattr(base_of(model), "get_decoder", lambda: None)()
    layer = embeddings(decoder)[0] if decoder is not None else None
    return getattr(layer, "weight", table)


def _is_kept_beside(subject: Subject, weight: Tensor) -> bool:
    """Whether PEFT saves this tensor with the adapter (modules_to_save), not with the base."""
    return any(p is weight for n, p in subject.model.named_parameters() if ".modules_to_save." in n)


def added_in_use(subject: Subject) -> list[int]:
    """The ids of added tokens in the first rows, padding left out."""
    table, _ = tables_of(subject)
    ids = ids_of(subject.rows)
    added = set(getattr(subject.tokenizer, "added_tokens_decoder", None) or ())
    if table is None or ids is None or not added:
        return []
    mask = subject.rows.get("attention_mask")
    has_mask = isinstance(mask, Tensor) and mask.shape == ids.shape
    used = set((ids[mask.bool()] if has_mask else ids).unique().tolist())
    used -= {subject.tokenizer.pad_token_id}
    return sorted(i for i in added & used if i < len(table))


def _new_tokens_train(subject: Subject, sheet: Sheet) -> None:
    """Tokens of the batch whose rows are as a resize leaves them, and stay so."""
    table, head = tables_of(subject)
    seen = added_in_use(subject)
    if table is None or not seen or any(t is not None and t.requires_grad for t in (table, head)):
        return
    rows = table.detach().float()
    near = torch.cosine_similarity(rows, rows.mean(0, keepdim=True), dim=1)
    fresh = [i for i in seen if near[i] > AT_THE_MEAN or not bool(rows[i].any())]
    if fresh:
        words = ", ".join(repr(subject.tokenizer.convert_ids_to_tokens(i)) for i in fresh[:3])
        said = (
            f"{words}: a row at the mean of all rows (cosine {float(near[fresh[0]]):.4f}), as "
            "resizing leaves it, and neither embedding is trainable"
        )
        sheet.find("new_tokens_untrained", COUNTED, said, place="embed_tokens")


def _pad_of_scores(subject: Subject, sheet: Sheet) -> None:
    """A score is read at the last token before the padding, by the configuration's pad id."""
    config = getattr(subject.model, "config", None)
    is_score = subject.kind == SCORES or hasattr(subject.model, "score")
    if not is_score or subject.tokenizer is None or config is None:
        return
    own, told = getattr(config, "pad_token_id", None), subject.tokenizer.pad_token_id
    said = f"model.config.pad_token_id is {own}, the tokenizer's is {told}"
    if own is None:
        sheet.find("no_pad_id", COUNTED, said, place="config.pad_token_id")
    elif told is not None and own != told:
        why = (
            "model and tokenizer mean different tokens by padding, and the score of a row is read "
        )
        why += "before the first one that the model means"
        sheet.find("rows_pooled_wrong", COUNTED, said, place="config.pad_token_id", why=why)
    else:
        sheet.clear("pad of the scores", f"id {own}, in model and tokenizer")
