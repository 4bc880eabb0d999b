"""Looks at the rows of added tokens: whether the gradient reaches them, as it does the old ones."""

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.looks.tables import added_in_use, ids_of, tables_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import IGNORED, Loss

NAMED = (  # tokens that a base has already
    *("bos_token_id", "eos_token_id", "unk_token_id", "pad_token_id"),
    *("sep_token_id", "cls_token_id", "mask_token_id"),
)


def look_at_added_rows(loss: Tensor | None, subject: Subject, sheet: Sheet) -> None:
    """Name a mask of the gradient that keeps the old rows of the embedding in place of the new.

    Args:
        loss: of the first rows, with its graph, which is kept.
    """
    (table, head), ids = tables_of(subject), ids_of(subject.rows)
    if table is None or ids is None or not table.requires_grad:
        return
    named = {getattr(subject.tokenizer, name, None) for name in NAMED}
    is_tied = head is not None and head.data_ptr() == table.data_ptr()
    idle = set() if is_tied else _without_effect(subject, ids)
    added = [one for one in added_in_use(subject) if one not in named | idle]
    if loss is None or not loss.requires_grad or not added:
        return
    (grad,) = torch.autograd.grad(loss, table, retain_graph=True, allow_unused=True)
    if grad is None:
        return
    reached = grad.abs().amax(1) > 0
    old = sorted(set(ids.unique().tolist()) - set(added))
    num_old = int(reached[old].sum())
    if not num_old or reached[added].any():
        return
    words = ", ".join(repr(subject.tokenizer.convert_ids_to_tokens(i)) for i in added[:3])
    sheet.find(
        "new_tokens_untrained",
        COUNTED,
        f"the rows of {len(added)} added tokens of the batch ({words}) get a gradient of exactly 0",
        f"{num_old} of {len(old)} old ones in it get one",
        place="embed_tokens",
        why="the gradient reaches the old rows of the embedding and not those of the added tokens, "
        "as with a mask that is the wrong way round",
        advice="let the mask, or hook, of the gradient keep the rows of the added tokens and set "
        "those of the others to 0",
    )


def _without_effect(subject: Subject, ids: Tensor) -> set[int]:
    """The tokens that stand only where no learnt one comes behind: a label at the end of a row.

    A model of the next token is not asked what follows them, so their vectors get no gradient.
    Shape of `ids`: (B, T).
    """
    labels = subject.rows.get("labels")
    if not isinstance(labels, Tensor) or labels.shape != ids.shape:
        return set()
    if subject.loss is not Loss.NEXT_TOKEN:
        return set()
    learnt_BT = (labels != IGNORED).int()
    is_read_BT = learnt_BT.flip(1).cumsum(1).flip(1)[:, 1:] > 0
    return set(ids.unique().tolist()) - set(ids[:, :-1][is_read_BT].unique().tolist())
