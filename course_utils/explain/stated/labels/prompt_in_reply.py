"""Columns of pairs whose replies begin with the prompt, beside a prompt column of its own."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.stated.labels.prompt_again import FEWEST, ONCE, plain

_NAMES = r"(?P<name>prompt|question|instruction|chosen|rejected|completion)"
_COLUMN = re.compile(
    rf"['\"]?(?<![\w.])(?:\w+\[['\"])?{_NAMES}['\"]?\]?\)?\s*(?:[:=]|->)\s*(?P<q>['\"])(?P<text>.+?)"
    r"(?P=q)(?=\s*(?:$|[,}\]]|\s\w+\s*[:=]))",
    re.IGNORECASE,
)
_RAW = re.compile(rf"^\W*{_NAMES}\s*:\s*(?P<text>[A-Za-z<\[#].{{15,}})$")
_ASKS = re.compile(rf"\[['\"]{_NAMES}['\"]\](?:\[:\d+\])?\s*\)?\s*$")
_NEXT = re.compile(r"^\s*(?:>>>|\$|print\(|In \[)|\[['\"]\w+['\"]\]\s*\)?\s*$")
_USER_FIRST = re.compile(
    r"\b(?P<name>prompt|chosen|rejected)['\"]?\s*[:=]\s*\[\s*\{\s*['\"]?(?:role['\"]?\s*:\s*['\"]user|"
    r"content['\"]?\s*:[^}]*['\"]role['\"]\s*:\s*['\"]user|from['\"]?\s*:\s*['\"]human)"
)
_CUTS = re.compile(
    r"\[\s*len\(|\[-1:?\]|\[1:\]|\bremoveprefix\(|\bsplit\(|partition\(|\bextract_prompt\b|\breplace\(|"
    r"\[:-1\]|\brfind\(|\bfind\(|\bindex\("
)
_OF_REPLIES = re.compile(r"chosen|rejected|completion|messages|repl|response")
_REPEATS = re.compile(
    r"\b(?:repeat|echo|restat|recit|cop(?:y|ie)|parrot)\w*\b.{0,60}"
    r"\b(?:questions?|prompts?|users?|instructions?|inputs?|human)\b|"
    r"\b(?:questions?|prompts?|instructions?|human turn)\b.{0,30}\b(?:twice|again|first|"
    r"once more)\b|"
    r"\b(?:starts?|begins?)\b (?:with|by) .{0,20}\b(?:questions?|prompts?|human|instructions?)\b",
    re.IGNORECASE,
)
SHOWN, BY_CODE, BELOW = 8.9, 8.3, 8  # weights; lines of what is printed
HELD = (
    "the prompt stands twice: {names} begin with the prompt already ({text}), and there is a "
    "prompt column besides, which the trainer puts in front of them once more. So each row asks "
    "twice, and the model learns to repeat the question before it answers"
)


def reply_holds_the_prompt(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows that show it, or code that renders whole conversations into the replies."""
    if any(_cuts_replies(line) for line in beside.words):
        return
    repeats = _first(beside, _REPEATS)
    whole = _passed_whole(beside)
    if (found := _in_columns(beside.words)) and (repeats or whole):
        text, names, lines = found
        proof = [*lines, *filter(None, (whole, repeats))]
        yield _finding(SHOWN, proof, names, f'"{text[:60]}"')
    elif (whole := _rendered_whole(beside)) and repeats:
        yield _finding(BY_CODE, [*whole, repeats], "chosen and rejected", "whole conversations")


def _finding(weight: float, lines: list[Line], names: str, text: str) -> Finding:
    why = HELD.format(names=names, text=text)
    proof = tuple(dict.fromkeys(line.says for line in lines))
    return Finding("prompt_twice", weight, lines[0], proof, why=why, advice=ONCE)


def _cuts_replies(line: Line) -> bool:
    is_code = not is_prose(line.text)
    return bool(is_code and _CUTS.search(line.text) and _OF_REPLIES.search(line.text))


def _first(beside: Beside, pattern: re.Pattern) -> Line | None:
    found = beside.matching(pattern)
    return found[0] if found else None


def _in_columns(lines: list[Line]) -> tuple[str, str, list[Line]] | None:
    """The prompt, the columns that begin with it, and where they are shown."""
    columns = dict(_columns(lines))
    asked = next((columns[n] for n in ("prompt", "question", "instruction") if n in columns), None)
    if asked is None:
        return None
    words = plain(asked[1])
    replies = {n: columns[n] for n in ("chosen", "rejected", "completion") if n in columns}
    held = [n for n, (_, text) in replies.items() if _begins(plain(text), words)]
    if len(words.split()) < FEWEST or not held or len(held) < len(replies):
        return None
    return words, " and ".join(held), [asked[0], *(replies[n][0] for n in held)]


def _begins(reply: str, prompt: str) -> bool:
    prompt = prompt.rstrip(" .")
    return reply.startswith(prompt) and len(reply.split()) > len(prompt.split()) + 1


def _columns(lines: list[Line]) -> Iterator[tuple[str, tuple[Line, str]]]:
    """The text of each column, as a row in code or a prompt's answer shows it; the first wins."""
    found: dict[str, tuple[Line, str]] = {}
    for number, line in enumerate(lines):
        for one in [*_COLUMN.finditer(line.text), *_RAW.finditer(line.text)]:
            found.setdefault(one["name"].lower(), (line, one["text"]))
        if asked := _ASKS.search(line.text):
            text = " ".join(_below(lines[number + 1 : number + 1 + BELOW]))
            found.setdefault(asked["name"].lower(), (line, text.strip(" '\"")))
    yield from found.items()


def _below(lines: list[Line]) -> Iterator[str]:
    for line in lines:
        if _NEXT.search(line.text):
            return
        yield line.text.strip()


def _passed_whole(beside: Beside) -> Line | None:
    """A statement that gives the column of a row on as it is, or rendered whole."""
    for line, statement in statements(beside):
        if any(_is_whole(value, name) for name, value in _given(statement)):
            return line
    return None


def _given(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The columns that a statement sets, in a dict or by name, with their values."""
    for one in ast.walk(statement):
        if isinstance(one, ast.Dict):
            for key, value in zip(one.keys, one.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in ("chosen", "rejected"):
                    yield str(key.value), value
    for target, value in bound(statement):
        at = target.slice if isinstance(target, ast.Subscript) else None
        name = at.value if isinstance(at, ast.Constant) else name_of(target)
        if name in ("chosen", "rejected"):
            yield str(name), value


def _is_whole(value: ast.expr, name: str) -> bool:
    """Whether it is the column of this name itself, or what a template makes of it."""
    if isinstance(value, ast.Call) and name_of(value.func) == "apply_chat_template" and value.args:
        value = value.args[0]
    at = value.slice if isinstance(value, ast.Subscript) else None
    return isinstance(at, ast.Constant) and at.value == name


def _rendered_whole(beside: Beside) -> list[Line]:
    """Chosen replies that are lists with the user's turn first, and rendered whole beside a
    prompt that is rendered as well."""
    shown = {m["name"]: line for line in beside.words for m in _USER_FIRST.finditer(line.text)}
    if "chosen" not in shown:
        return []
    if "prompt" in shown:  # both are conversations, so that nothing is taken out
        return [shown["prompt"], shown["chosen"]]
    rendered = {}
    for line, statement in statements(beside):
        text = ast.unparse(statement)
        is_rendered = any(name_of(call.func) == "apply_chat_template" for call in calls(statement))
        if is_rendered and re.search(r"\[?['\"]prompt['\"]\]? ?[:=]", text):
            rendered["prompt"] = line
        if is_rendered and any(_is_whole(value, name) for name, value in _given(statement)):
            rendered.setdefault("chosen", line)
    return [shown["chosen"], *rendered.values()] if len(rendered) == 2 else []
