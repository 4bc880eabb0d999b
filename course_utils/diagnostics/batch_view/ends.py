"""Finds rows without a single label, and end tokens that are not learnt."""

from course_utils.diagnostics.batch_view.case import (
    PAIRS,
    Case,
    Finding,
    Reply,
    count_of,
    rows_of,
)
from course_utils.diagnostics.loss_kind import OF_TEXT, Loss, speaks_for


def nothing_is_learnt(case: Case) -> Finding | None:
    """Rows without any label: a batch of them has the loss 0 or nan."""
    if not case.learns_tokens:
        return None
    empty = [(row, None) for row in case.view.rows if not row.learnt]
    if not empty or _is_by_chance(case, len(empty)):
        return None
    cause, fix = _why_empty(case, [row for row, _ in empty])
    saw = f"{count_of(len(empty), len(case.view.rows), 'rows')} have no label at all"
    return Finding("no labels", rows_of(empty), saw, cause, fix)


def _is_by_chance(case: Case, num_empty: int) -> bool:
    """Whether labels that are drawn token by token may miss so many rows: short ones, the half."""
    return case.loss is Loss.HIDDEN_TOKENS and num_empty <= len(case.view.rows) / 2


def _why_empty(case: Case, rows: list) -> tuple[str, str]:
    if case.loss not in OF_TEXT:
        return (
            "no token of these rows was chosen to be predicted: each label is -100",
            "look at what the collator makes of one row",
        )
    replies = [list(case.replies(row.attended)) for row in rows]
    if case.template.is_chat and not any(replies):
        longest = max(len(row.ids) for row in case.view.rows)
        if all(len(row.ids) == (case.max_length or longest) for row in rows):
            return (
                f"the rows end at {len(rows[0].ids)} tokens, before the reply: they were cut",
                "raise max_length, or shorten or drop the prompts that fill it",
            )
        return (
            "no reply begins in these rows as the tokenizer's template begins one",
            "render the data with this tokenizer's apply_chat_template",
        )
    if case.template.marks_replies:
        return (
            "the replies are there, and whatever marks them did not find them",
            "look for the marker's token ids in the row: a space or line end may have merged",
        )
    return (
        "the replies are there and unmarked: a template that marks them has no {% generation %}; a "
        "collator that looks for a response marker finds it among none of these token ids",
        "put {% generation %} around the replies and their end, or give prompt and completion",
    )


@speaks_for(*OF_TEXT)
def end_is_masked(case: Case) -> Finding | None:
    """Replies whose end token is in the row and not in the loss."""
    if not case.learns_tokens:
        return None
    replies = list(case.learnt_replies())
    masked = [(row, r) for row, r in replies if r.end is not None and not r.end_is_learnt]
    if not masked:
        return None
    saw = f"the end of {count_of(len(masked), len(replies), 'replies')} is there and has no label"
    ids = {reply.tokens[reply.end].id for _, reply in masked}
    if case.pad in ids:
        cause = f"pad is the end (id {case.pad}), and labels were made from ids: the end went, too"
        fix = (
            "make labels from the attention mask or the lengths; or give padding a token of its own"
        )
    else:
        cause = "what marks the reply stops before its end"
        fix = "in the template, put the end of turn before {% endgeneration %}"
    return Finding("end masked", rows_of(masked), saw, cause, fix)


@speaks_for(*OF_TEXT)
def end_is_missing(case: Case) -> Finding | None:
    """Replies that stop without an end; the last of a packed row may go on in the next one.

    Of a loop whose answers are single tokens nobody knows whether they are ever generated.
    """
    if not case.learns_tokens:
        return None
    replies = list(case.learnt_replies())
    if case.is_packed:
        replies = [(row, r) for row, r in replies if r.tokens[-1] is not row.attended[-1]]
    # In a row whose mask has holes the end may be there and hidden; that is told elsewhere.
    missing = [
        (row, reply)
        for row, reply in replies
        if reply.end is None and not row.has_hole and not _ends_in_a_stop_text(reply, case)
    ]
    is_one_token = all(len(reply.tokens) - reply.start == 1 for _, reply in missing)
    if not missing or (case.is_whole_batch and is_one_token):
        return None
    lengths = {len(row.ids) for row, _ in missing}
    longest = max(len(row.ids) for row in case.view.rows)
    were_cut = lengths == {case.max_length or longest} and (
        case.max_length is not None or len(missing) < len(replies)
    )
    saw = (
        f"{count_of(len(missing), len(replies), 'replies')} have no end{_by_column(case, missing)}"
    )
    if were_cut:
        cause = f"they were cut at {longest} tokens"
        fix = "raise max_length, or drop the rows that do not fit"
    else:
        sizes = {len(reply.tokens) - reply.start for _, reply in missing}
        longest = max(len(reply.tokens) - reply.start for _, reply in replies)
        alike = sizes == {longest} and len(missing) > 2
        cut = f"; or each was cut at {longest} tokens, as long as all of them are" if alike else ""
        cause = f"the data has none: nothing appends it to these rows{cut}"
        fix = "append the tokenizer's eos_token, or render the reply with the chat template"
    return Finding("end missing", rows_of(missing), saw, cause, fix)


def _ends_in_a_stop_text(reply: Reply, case: Case) -> bool:
    """Whether a reply learns to end with a text that generation stops at, such as a line end."""
    said = "".join(token.piece for token in reply.tokens[reply.start :])
    return reply.tokens[-1].is_learnt and said.endswith(case.stop_texts)


def _by_column(case: Case, missing: list) -> str:
    if case.kind != PAIRS:
        return ""
    counts = [sum(row.name.startswith(c) for row, _ in missing) for c in ("chosen", "rejected")]
    return f": {counts[0]} chosen, {counts[1]} rejected"


def stops_elsewhere(case: Case) -> Finding | None:
    """Generation waits for an id that ends no reply of the template."""
    closing = case.template.closing
    if not closing or not case.stops_at or closing & set(case.stops_at):
        return None
    cause = f"a reply ends with id {min(closing)}, and generation stops at {list(case.stops_at)}"
    fix = "add it to model.generation_config.eos_token_id, or set SFTConfig(eos_token=...)"
    return Finding("stops elsewhere", (), "the learnt end stops nothing", cause, fix)
