"""Replies that never end within the limit: how long all are, and prompts without a template."""

from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.plain_prompts import has_template_elsewhere, plain_prompt

EVERY = 0.95  # of the replies
WITHOUT_TEMPLATE = (
    "hardly a reply ends by itself within the limit ({}), and what is not finished earns nothing. "
    "The prompts are plain strings, to which the trainer adds no chat template{}. A chat model "
    "that gets bare text goes on with it and does not write the end of a turn"
)
ELSEWHERE = ", while apply_chat_template is used elsewhere"
AS_MESSAGES = (
    'give the prompt as messages ([{"role": "user", "content": ...}]), or apply the chat template '
    "to it yourself, as a chat or an evaluation does; then the share of cut replies must fall"
)


def cut(one: Finding, beside: Beside, log: Log) -> Finding:
    """The finding with how long the replies are, where all of them are cut in each entry."""
    shares = finite(log.values("truncated_share"))
    if one.why or not shares or min(shares) < EVERY:
        return one
    how = f"a share of {min(shares):.3g} or more is cut in all {len(shares)} entries"
    limit, lengths = beside.number("max_reply_length"), set(finite(log.values("length")))
    proof = list(one.for_it)
    if limit is not None and lengths == {limit.number}:
        proof.append(f"every reply has {limit.value} tokens; {limit.said}")
    plain = plain_prompt(beside)
    if plain is None:
        return replace(one, for_it=tuple(proof))
    proof += [line.says for line in plain]
    elsewhere = ELSEWHERE if has_template_elsewhere(plain[1]) else ""
    why = WITHOUT_TEMPLATE.format(how, elsewhere)
    return replace(one, for_it=tuple(proof), why=why, advice=AS_MESSAGES)
