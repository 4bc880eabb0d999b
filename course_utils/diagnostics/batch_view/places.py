"""Finds errors in padding, masks, positions and packed documents."""

from course_utils.diagnostics.batch_view.case import (
    GENERATION,
    TRAINING,
    Case,
    Finding,
    count_of,
    rows_of,
)
from course_utils.diagnostics.batch_view.tokens import BY_LABELS, IGNORED, Row
from course_utils.diagnostics.loss_kind import Loss, speaks_for

MOST = 0.5  # of the labels that are not the token at their own place


@speaks_for(Loss.NEXT_TOKEN)
def labels_are_shifted(case: Case) -> Finding | None:
    """Labels that are the token before or behind: wrong only where the model moves them itself.

    Labels that are other tokens belong to ids that were changed, as word dropout does it.
    """
    wrong, moved = 0, 0
    for row in case.view.rows:
        ids = [token.id for token in row.tokens]
        for at, token in enumerate(row.tokens):
            if token.label not in (IGNORED, token.id):
                wrong += 1
                moved += token.label in ids[max(at - 1, 0) : at + 2]
    if moved <= MOST * wrong:
        return None
    saw = f"{wrong} labels are not the token at their own place"
    cause = "the labels were moved by hand, and the model moves them once more"
    return Finding("labels shifted", (), saw, cause, "give labels that stand where their ids stand")


def padding_is_learnt(case: Case) -> Finding | None:
    found = [(r, t) for r in case.view.rows for t in r.tokens if t.is_learnt and not t.is_attended]
    if not found:
        return None
    saw = f"{len(found)} tokens that no one attends to have a label"
    fix = "set the labels to -100 where the attention mask is 0"
    return Finding("padding learnt", rows_of(found), saw, "the padding is in the loss", fix)


def mask_has_holes(case: Case) -> Finding | None:
    """Tokens that are masked in the middle of a row, where there is no padding."""
    found = [(row, None) for row in case.view.rows if row.has_hole]
    if not found or _are_of_fixed_parts([row for row, _ in found], case.pad):
        return None
    saw = f"{count_of(len(found), len(case.view.rows), 'rows')} hide tokens in their middle"
    cause = "the attention mask was made from ids, and the pad id stands in the text as well"
    return Finding(
        "holes in the mask", rows_of(found), saw, cause, "make the mask from the lengths"
    )


def _are_of_fixed_parts(rows: list[Row], pad: int | None) -> bool:
    """Whether the holes are padding, because each part of a row is filled up to a width of its own.

    Then the text goes on at the same few columns in all rows, and some holes are wide. A pad id
    that stands in the text is a hole of one token, anywhere.
    """
    holes = [(row, hole) for row in rows for hole in row.holes]
    columns = {hole.stop for _, hole in holes}
    wide = {hole.stop for _, hole in holes if len(hole) > 1}
    is_padding = all(row.tokens[at].id == pad for row, hole in holes for at in hole)
    return is_padding and columns == wide and len(columns) <= len(holes) / 2


def padding_is_attended(case: Case) -> Finding | None:
    """Two or more pad tokens at an edge that the mask treats as text."""
    found = [(row, None) for row in case.view.rows if case.pad is not None and _edge(row, case)]
    if not found:
        return None
    saw = f"{count_of(len(found), len(case.view.rows), 'rows')} attend to padding"
    has_mask = case.view.has_mask
    cause = "the attention mask is 1 there" if has_mask else "there is no attention mask"
    fix = "pass the attention_mask that the tokenizer makes"
    return Finding("padding attended", rows_of(found), saw, cause, fix)


def _edge(row: Row, case: Case) -> bool:
    """Pad tokens at an edge; a token that also begins a row may stand there twice."""
    at_first = 3 if case.pad == case.bos else 2
    return row.ids[:at_first] == [case.pad] * at_first or row.ids[-2:] == [case.pad, case.pad]


def pads_on_the_wrong_side(case: Case) -> Finding | None:
    """Padding on the wrong side: only prompts to be continued need it on the left."""
    if case.kind != GENERATION:
        return None
    found = [(row, None) for row in case.view.rows if not row.tokens[-1].is_attended]
    if not found:
        return None
    saw = f"{count_of(len(found), len(case.view.rows), 'prompts')} end in padding"
    cause = "padding is on the right, so the model continues the padding"
    return Finding("padding side", rows_of(found), saw, cause, 'set padding_side="left"')


def begins_twice(case: Case) -> Finding | None:
    found = [
        (row, None)
        for row in case.view.rows
        if case.bos is not None and row.ids[:2] == [case.bos, case.bos]
    ]
    if not found:
        return None
    saw = f"{count_of(len(found), len(case.view.rows), 'rows')} begin with two BOS tokens"
    cause = "the template renders one, and the tokenizer adds one to rendered text"
    fix = "tokenize by apply_chat_template(tokenize=True), or with add_special_tokens=False"
    return Finding("two BOS", rows_of(found), saw, cause, fix)


@speaks_for(Loss.NEXT_TOKEN)
def documents_leak(case: Case) -> Finding | None:
    """Several documents in a row without anything that separates them."""
    view = case.view
    if view.restarts and view.has_mask:
        cause = "positions start again, and an attention mask is given: it joins the documents"
        fix = "give the model position_ids and no attention_mask (TRL: padding_free, or bfd)"
        return _leak("documents of one row see each other", cause, fix)
    if case.is_packed and not view.has_positions:
        cause = "rows are packed, and there are no position_ids that start again"
        return _leak(
            "documents of one row see each other", cause, 'set packing_strategy="bfd" and no mask'
        )
    if not view.has_positions and case.kind == TRAINING and _several_begin(case):
        cause = "several BOS stand in one row, and there are no position_ids that start again"
        fix = "give position_ids that start at 0 with each document, and no attention_mask"
        return _leak("documents of one row see each other", cause, fix)
    return None


@speaks_for(Loss.NEXT_TOKEN)
def several_replies(case: Case) -> Finding | None:
    """Several replies in a row: one chat of several turns, or several packed chats."""
    view = case.view
    if view.has_positions or case.is_packed or case.kind != TRAINING:
        return None
    found = [(row, None) for row in view.rows if len(list(case.replies(row.attended))) > 1]
    if not found:
        return None
    saw = (
        f"{count_of(len(found), len(view.rows), 'rows')} hold several replies, and positions run on"
    )
    cause = "either a chat has several turns, or documents are packed and see each other"
    fix = "if they are packed, give position_ids that start again, and no attention_mask"
    return Finding("several replies", rows_of(found), saw, cause, fix, is_fault=False)


def _several_begin(case: Case) -> bool:
    return case.bos is not None and any(case.bos in row.ids[2:] for row in case.view.rows)


def _leak(saw: str, cause: str, fix: str) -> Finding:
    return Finding("packing leaks", (), saw, cause, fix)


@speaks_for(Loss.NEXT_TOKEN)
def predicts_across(case: Case) -> Finding | None:
    """The first token of a packed document is predicted from the last token of the one before.

    A BOS that each document begins with says nothing of it, and may be predicted.
    """
    if case.view.learnt_by != BY_LABELS:
        return None
    found = [
        (row, t) for row in case.view.rows for t in row.tokens if t.is_learnt and t.position == 0
    ]
    found = [(row, t) for row, t in found if t is not row.tokens[0] and t.id != case.bos]
    if not found:
        return None
    saw = f"{len(found)} documents are to be guessed from the one before"
    cause = "the first token of a packed document has a label"
    fix = "set the labels to -100 where a document begins"
    return Finding("labels across documents", rows_of(found), saw, cause, fix)
