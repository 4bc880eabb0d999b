"""Looks at the rows of added tokens: whether the gradient reaches them, as it does the old ones."""

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.looks.tables import added_in_use, ids_of, tables_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

NAMED = (  # tokens that a base has already
    *("bos_token_id", "eos_token_id", "unk_token_id", "pad_token_id"),
    *("sep_token_id", "cls_token_id", "mask_token_id"),
)


def look_at_added_rows(loss: Tensor | None, subject: Subject, sheet: Sheet) -> None:
    """Name a mask of the gradient that keeps the old rows of the embedding in place of the new.

    Args:
        loss: of the first rows, with its graph, which is kept.
    """
    (table, _), ids = tables_of(subject), ids_of(subject.rows)
    named = {getattr(subject.tokenizer, name, None) for name in NAMED}
    added = [one for one in added_in_use(subject) if one not in named]
    if loss is None or not loss.requires_grad or not added:
        return
    if table is None or ids is None or not table.requires_grad:
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
