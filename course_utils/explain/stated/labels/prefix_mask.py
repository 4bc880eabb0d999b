"""A mask of several turns, made of rendered prefixes, beside ids that the engine has written."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log

_PREFIX = re.compile(
    r"apply_chat_template\(\s*\w*(?:messages|msgs|conv\w*|chat|history|turns)\[\s*:"
)
_CUT = re.compile(
    r"\[\s*(?:len\(\s*\w+\s*\)|\w*(?:prev|last|start|offset|len)\w*)\s*:\s*\]|"
    r"\blen\(\s*\w*cur\w*\s*\)\s*-\s*"
)
_MASK = re.compile(r"\b\w*mask\w*\s*(?:\+=|=|\.extend\(|\.append\()|\bmask\b.*\bassistant\b")
_THINKS = re.compile(
    r"<think>|\bthinking\b|\breasoning_content\b|\bqwen-?3\b(?!\S*instruct)|\bdeepseek-?r1\b", re.I
)
_KEEPS = re.compile(
    r"preserve_thinking|keep_(?:past_)?(?:thinking|reasoning)|strip_thinking\W+false|"
    r"clear_thinking\W+false|patched (?:chat )?template|(?:training|custom)_chat_template|"
    r"chat_template\s*=\s*\w*(?:keep|no_?strip|train)|enable_thinking\s*=\s*false",
    re.IGNORECASE,
)
_AS_USER = re.compile(
    r"\b(?:observations?|tool (?:results?|outputs?)|search results?|results?|feedback)\b.*\buser\b|"
    r"\buser\b.*\b(?:observations?|tool (?:results?|outputs?)|results?|feedback)\b",
    re.IGNORECASE,
)
_LENGTHS = re.compile(
    r"\blen\(\s*(?P<of>\w*(?:mask|ids)\w*)\s*\)(?:[^=\n\d]{0,40})[=:]\s*(?P<n>\d+)\b"
)
SHIFTED = (
    "the mask is made of prefixes of the conversation, each rendered by the chat template, and the "
    "template leaves the thoughts out of earlier replies as soon as a user's turn follows, while "
    "the ids are what the engine wrote, thoughts included. Behind the first such turn the mask "
    "stands too far to the left: {what} are learnt as if the policy had written them, and the end "
    "of its own replies is left out. Their sum is right, so that a check of the sum does not see it"
)
TOOLS = "tool results or the user's turns"
BY_THE_ENGINE = (
    "make the mask while the reply is generated (1 for ids that the engine returns, 0 for those "
    "that are put in), or render with a template that keeps the thoughts; assert that the decoded "
    "tokens under the mask are the text that was generated. Start again"
)


def shifted_by_thoughts(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that renders messages[: i + 1] for a mask, of a model that thinks."""
    prefix, mask, cut = (beside.matching(one) for one in (_PREFIX, _MASK, _CUT))
    thinks, user = beside.matching(_THINKS), beside.matching(_AS_USER)
    if not prefix or not mask or not cut or not thinks or beside.matching(_KEEPS):
        return
    lengths = _apart(beside)
    if not lengths and not user:
        return
    shown = list(dict.fromkeys(one[0] for one in (prefix, thinks, user) if one))
    proof = [line.says for line in shown]
    against = () if lengths else ("no length of a mask is read beside that of its ids",)
    of = ("tool_results_learnt", 9.0 if lengths else 6.4, prefix[0], (*proof, *lengths), against)
    yield Finding(*of, why=SHIFTED.format(what=TOOLS), advice=BY_THE_ENGINE)


def _apart(beside: Beside) -> list[str]:
    """A mask that is shorter than the ids that it is for."""
    found: dict[bool, tuple[Line | Entry, re.Match]] = {}
    for line in beside.words:
        for one in _LENGTHS.finditer(line.text):
            found.setdefault("mask" in one["of"], (line, one))
    if len(found) < 2 or int(found[True][1]["n"]) >= int(found[False][1]["n"]):
        return []
    (line, short), (other, whole) = found[True], found[False]
    missing = int(whole["n"]) - int(short["n"])
    return [
        f"{short['of']} has {short['n']} places at {line.where} and {whole['of']} {whole['n']} at "
        f"{other.where}: {missing} fewer"
    ]
