"""Rewards that are remembered under a key which the reply is no part of."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_REPLY = re.compile(
    r"\b\w*(?:solution_str|solution|completion|response|repl(?:y|ies)|rollout|generation|candidate|"
    r"prediction|model_(?:answer|output)|output)\w*\b",
    re.IGNORECASE,
)
_DEF = re.compile(r"^(?:async )?def (?P<name>\w+)\((?P<arguments>.*)")
_OF_A_REWARD = re.compile(r"reward|score|verif|grade|judge|correct", re.IGNORECASE)
_OF_A_KEY = re.compile(r"key", re.IGNORECASE)
_KEEPS = re.compile(r"cache|memo|verdict|scored?|result|reward", re.IGNORECASE)
_REMEMBERS = re.compile(r"@\w*(?:memo|cache)|\b\w*(?:cache|memo|verdict)\w*\[", re.IGNORECASE)
_RETURNS = re.compile(r"^(?:if .*:\s*)?return\s+(?P<key>.+)")
_NAMED = re.compile(r"^(?P<name>\w*key\w*|k)\s*=\s*(?P<key>.+)")
_ASKED = re.compile(
    r"\bif (?P<key>\([^()]*\)|[\w.\[\]'\"]+) (?:not )?in (?P<kept>\w+)\s*:"
    r"|\b(?P<of>\w+)\.get\((?P<got>\([^()]*\)|[\w.\[\]'\"]+)"
)
_DERIVED = re.compile(r"^(?P<name>\w+)\s*=\s*(?P<from>.+)")
_ARGUMENT = re.compile(r"\*?\b(?P<name>[A-Za-z_]\w*)\s*(?::[^,=)]*)?(?:=[^,)]*)?(?=[,)]|$)")
FEW, MOST = 3, 0.9  # entries; of them
SHOWN, SAID = 9.3, 7.0
REMEMBERED = (
    "the reward is remembered under a key that does not contain the reply: the first reply to a "
    "prompt is scored, and all others to it, of this group, of later epochs and of the "
    "evaluation, get its score"
)
NO_ADVANTAGE = (
    ". So all replies of a group earn the same, the advantages are 0, and nothing but the KL "
    "term, if there is one, moves the policy"
)
PUT_IT_IN = (
    "put the reply, or the answer read from it, into the key, or remember only what compares two "
    "answers; and test it with two different replies to one prompt"
)


def remembered_without_the_reply(beside: Beside, log: Log) -> Iterator[Finding]:
    """A reward function whose memo is asked by the prompt alone, where groups are tied."""
    lines = beside.words
    found = next(_keys(lines), None)
    alike = _alike(log)
    if found is None or alike is None:
        return
    line, function = found
    proof = [one.says for one in (function, line)]
    why = REMEMBERED + (NO_ADVANTAGE if alike else "")
    against = () if alike else ("whether replies of a group earn the same is not in the log",)
    of = ("no_signal", SHOWN if alike else SAID, line, (*proof, *alike), against)
    yield Finding(*of, why=why, advice=PUT_IT_IN)


def _keys(lines: list[Line]) -> Iterator[tuple[Line, Line]]:
    """Each key that the reply is no part of, and the function, of a reward, that has one."""
    if not any(_REMEMBERS.search(line.text) for line in lines):
        return
    is_of_rewards = any(
        (found := _DEF.match(line.text)) and _OF_A_REWARD.search(found["name"]) for line in lines
    )
    function, known = None, set()
    for line in lines:
        if found := _DEF.match(line.text):
            function, known = line, set(_REPLY.findall(found["arguments"]))
            known &= {one["name"] for one in _ARGUMENT.finditer(found["arguments"])}
            name = found["name"]
            continue
        if function is None or not known or not is_of_rewards:
            continue
        if (made := _DERIVED.match(line.text)) and _has(made["from"], known):
            known.add(made["name"])
            continue
        key = _key_of(line, name, lines)
        if key and not _has(key, known):
            yield line, function


def _key_of(line: Line, function: str, lines: list[Line]) -> str:
    """The expression under which a line keeps, or looks up, a score; "" if it does not."""
    if _OF_A_KEY.search(function) and (found := _RETURNS.match(line.text)):
        return found["key"]
    if found := _NAMED.match(line.text):
        return found["key"] if _asks(lines, found["name"]) else ""
    found = _ASKED.search(line.text)
    if found is None or not _KEEPS.search(found["kept"] or found["of"]):
        return ""
    key = found["key"] or found["got"]
    return "" if re.fullmatch(r"\w*key\w*|k", key) else key


def _asks(lines: list[Line], name: str) -> bool:
    """Whether something that keeps scores is asked by this name."""
    asked = re.compile(rf"\b{name} (?:not )?in (\w+)|\b(\w+)(?:\.get\(|\[)\s*{name}\b")
    found = (one for line in lines for one in asked.finditer(line.text))
    return any(_KEEPS.search(one[1] or one[2]) for one in found)


def _has(text: str, names: set[str]) -> bool:
    return bool(names.intersection(re.findall(r"\w+", text)))


def _alike(log: Log) -> tuple[str, ...] | None:
    """What shows that groups are not told apart; () where nothing does, None where they are."""
    for name, value in (("zero_std_share", 1.0), ("reward_std", 0.0), ("advantage_max", 0.0)):
        series = log.series(name)
        same = [entry for entry, one in series if one == value]
        if len(series) >= FEW:
            if len(same) < MOST * len(series):
                return None
            shown = [n for n in (name, "reward") if n in same[0].numbers]
            return (
                f"{said(same[0], *shown)} at {same[0].where}; so in {len(same)} of "
                f"{len(series)} entries",
            )
    return ()
