"""Finds errors before the replies: prompts that are learnt, headers that differ."""

import re

from course_utils.diagnostics.batch_view.case import (
    GENERATION,
    TRAINING,
    Case,
    Finding,
    count_of,
    rows_of,
)
from course_utils.diagnostics.batch_view.template import Template, starts_of
from course_utils.diagnostics.batch_view.tokens import Row
from course_utils.diagnostics.loss_kind import OF_TEXT, Loss, speaks_for

# How a turn begins in one chat format or another; "Answer:" alone may end any plain prompt.
MARKER = re.compile(
    r"(?:\[/INST\]|<\|?/?\w+\|?>|###.{0,20}|\b(?:assistant|response|bot|gpt|ai|model)\s*:?)\s*$",
    re.IGNORECASE,
)


@speaks_for(*OF_TEXT, Loss.SCORES)
def template_differs(case: Case) -> Finding | None:
    """Replies that begin after other tokens than the serving tokenizer puts there."""
    template = case.serving or case.template
    if not template.is_chat or not case.view.rows:
        return None
    looks = {TRAINING: _reply_begins_elsewhere, GENERATION: _prompt_ends_elsewhere}
    look = looks.get(case.kind)
    found = [(row, None) for row in case.view.rows if look and look(row, template)]
    if not found:
        return _serving_differs(case)
    where = count_of(len(found), len(case.view.rows), "rows")
    saw = f"in {where} no reply begins after {template.header_text!r}"
    cause = "the tokenizer at serving asks for a reply there, and these rows do not begin it there"
    fix = (
        "render the prompts of the rows by apply_chat_template of the tokenizer that serves, with "
        "add_generation_prompt=True"
    )
    return Finding("template differs", rows_of(found), saw, cause, fix)


def _reply_begins_elsewhere(row: Row, template: Template) -> bool:
    """If only a part of a row is learnt, that part is taken for the replies.

    Plain text, which a prompt and its completion may be, has no template that could differ.
    """
    if not 0 < len(row.learnt) < len(row.ids) or not row.learnt[0]:
        return False
    return _is_chat(row, template) and not starts_of(template.header, row.ids)


def _is_chat(row: Row, template: Template) -> bool:
    """Whether the prompt has a token of the template's header, or ends with a marker."""
    before = row.attended[: row.learnt[0]]
    known = template.special or set(template.header)
    is_known = any(token.id in known for token in before)
    return is_known or bool(MARKER.search("".join(token.piece for token in before)))


def _prompt_ends_elsewhere(row: Row, template: Template) -> bool:
    """A prompt with the template's own special tokens that does not end where a reply begins."""
    is_chat = any(token in row.ids for token in template.special)
    return is_chat and row.ids[-len(template.header) :] != list(template.header)


def _serving_differs(case: Case) -> Finding | None:
    """Renders one chat with two tokenizers: the user's words may already differ."""
    if case.serving is None or case.serving.rendered == case.template.rendered:
        return None
    saw = (
        f"a first question is {case.template.rendered!r} in training and "
        f"{case.serving.rendered!r} at serving"
    )
    cause = "the two tokenizers have different chat templates"
    fix = "save the tokenizer of the training beside the weights, and serve with it"
    return Finding("template differs", (), saw, cause, fix)


@speaks_for(*OF_TEXT)
def prompt_is_learnt(case: Case) -> Finding | None:
    """The user's words in the loss: intended for whole chats, a fault where a part is learnt."""
    if not case.learns_tokens or not case.template.is_chat:
        return None
    prompts = [(row, _of_the_prompt(case, row)) for row in case.view.rows]
    found = [(row, tokens) for row, tokens in prompts if any(t.is_learnt for t in tokens)]
    if not found:
        return None
    of_prompts = sum(t.is_learnt for _, tokens in found for t in tokens)
    share = of_prompts / max(case.view.num_learnt, 1)
    saw = f"{of_prompts} of {case.view.num_learnt} learnt tokens ({share:.0%}) stand in prompts"
    is_part = any(
        not t.is_learnt and t.id not in case.template.ends for _, tokens in found for t in tokens
    )
    return Finding(
        "prompt learnt",
        rows_of(found),
        saw,
        "a part of the prompt is in the loss" if is_part else "the whole chat is in the loss",
        "give prompt and completion, or set assistant_only_loss=True, if replies alone are meant",
        is_fault=is_part and not _plays_the_user(case),
    )


def _plays_the_user(case: Case) -> bool:
    """Whether the model learns the user's part: no reply, and no token of what begins a reply.

    Labels that were turned round stand on all but the replies, and so on what begins them as well.
    """
    size = len(case.template.header)
    documents = (tokens for row in case.view.rows for tokens in row.segments())
    replies = [reply for tokens in documents for reply in case.replies(tokens)]
    heads = [token for one in replies for token in one.tokens[one.start - size : one.start]]
    return not any(one.is_learnt for one in replies) and not any(t.is_learnt for t in heads)


def _of_the_prompt(case: Case, row: Row) -> list:
    """The tokens before the first reply; none in a row without a reply.

    A packed document's first token is left out: no one is asked for it.
    """
    tokens = []
    for segment in row.segments():
        starts = starts_of(case.template.header, [t.id for t in segment])
        tokens += segment[1 : starts[0]] if starts else ()
    return tokens
