"""Rows, or prompts, that begin with two start tokens: as ids, as text, or in code that adds one to
what a template has rendered."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.served.starts_at_one_end import at_one_end

_TWO_IDS = re.compile(
    r"\b(?:input|prompt_token|token|prompt)_?ids\b[^\[\n]{0,30}\[+\s*(?:tensor\(\[+)?"
    r"(?P<id>[12]|128000|151643|100000|0), (?P=id),",
    re.IGNORECASE,
)
_ASKS_IDS = re.compile(r"\b\w*ids\b|\bencode\(|\btok(?:enizer)?\(|\btokens\b", re.IGNORECASE)
_ONLY_TWO = re.compile(  # where the ids begin, and no padding
    r"^\W*(?:Out\[\d+\]:\s*)?(?:tensor\()?\[+\s*(?P<id>[12]|128000|100000|0),\s*(?P=id)\s*,\s*"
    r"(?!(?:(?P=id)|[012]|128000|100000)\b)\d"
)
_TWO_TEXTS = re.compile(
    r"(?P<text><bos>|<s>|<\|begin_of_text\|>|<\uff5cbegin\u2581of\u2581sentence\uff5c>) ?(?P=text)"
)
_NOT_SO = re.compile(
    r"\b(?:no|not|never|without|instead of|rather than|if|expected|fixed|was|would|serv\w+|"
    r"sent|sending|tri(?:ed|es))\b",
    re.IGNORECASE,
)
_RENDERS = re.compile(r"apply_chat_template\(.*tokenize ?= ?False|\btokenize ?= ?False\b")
_ENCODES = re.compile(r"\b(?:tok|tokenizer|processor|tokenize_fn)(?:\.encode|\.__call__)?\((?!\.)")
_CLEAN = re.compile(
    r"add_special_tokens['\"]?\s*[=:]\s*['\"]?false|removeprefix\(|lstrip\(|add_bos_token\W+false|"
    r"add_generation_prompt=True, tokenize=True|bos_token, ?['\"]{2}",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    r"\binput_ids(?:\.shape|\.size\(\)|['\"]?\]\.shape)\W{0,6}?(?:torch\.Size\(\[|\(|\[)"
    r"\s*1, (?P<n>\d+)"
    r"|\blen\((?:\w+\.)?input_ids\S*\)\W{1,4}(?P<m>\d+)|\b(?P<k>\d+) (?:input|prompt) ids\b",
    re.IGNORECASE,
)
_SERVED = re.compile(r"\bprompt_tokens['\"]?\s*[=:]\s*(?P<n>\d+)", re.IGNORECASE)
_LEARNT = re.compile(r"^\s*0\s+(?P<id>[12]|128000|151643)\s+\d+\.\d+")
_BY_PLACE = re.compile(r"\bpos(?:ition)?\b", re.IGNORECASE)
_WRITES_ONE = re.compile(  # a text that begins with one
    r"f?['\"](?:<s>|<bos>|<\|begin_of_text\|>|\{[\w.]*bos_token\})|[\w.]*bos_token \+"
)
_RENDERS_ONE = re.compile(r"llama-?_?[23]|mi[sx]tral|gemma|deepseek|<s>|<bos>|begin_of_text", re.I)
_TRAINS = re.compile(r"Trainer\(|\.backward\(")
SHOWN, COUNTED, BY_CODE, ALONE = 8.6, 8.8, 6.2, 6.0
TWICE = (
    "rows of the training begin with two start tokens: the template renders one, and the tokenizer "
    "puts another before text that was rendered already. Training and whatever shares its code see "
    "two, a server that renders the chat itself sends one, and the model has learnt the frame with "
    "two"
)
ONE = (
    "add_special_tokens=False where rendered text is tokenized (or apply_chat_template with "
    "tokenize=True), train again and evaluate on the same ids; until then send prompts with two "
    "start tokens as ids. Number formats and attention kernels are not to blame"
)


def two_starts(beside: Beside, log: Log) -> Iterator[Finding]:
    """Two equal ids or marks at the beginning, or code that makes them and one token of more."""
    if one := at_one_end(beside, log, _by_code(beside)[-1:]):
        yield one
        return
    for line in _shown(beside):
        proof = (line.says,)
        yield Finding("double_bos", SHOWN, line, proof, why=TWICE, advice=ONE)
        return
    code, counted = _by_code(beside), _one_more(beside)
    if not code or beside.matching(_CLEAN):
        return
    learnt = next((line for line in beside.words if _LEARNT.match(line.text)), None)
    learnt = learnt if beside.matching(_BY_PLACE) else None
    shown = [*code, *counted, *([learnt] if learnt else [])]
    alone = len(shown) == len(code)
    if alone and not (beside.matching(_RENDERS_ONE) and beside.matching(_TRAINS)):
        return
    at, weight = code[-1], ALONE if alone else COUNTED if counted else BY_CODE
    said = dict.fromkeys(one.says for one in shown)
    proof = list(said)
    if learnt:
        start = _LEARNT.match(learnt.text)["id"]
        proof[-1] += f": behind the first token, {start} (a start token) comes again"
    yield Finding("double_bos", weight, at, tuple(proof), why=TWICE, advice=ONE)


def _shown(beside: Beside) -> Iterator[Line]:
    """Lines in which both start tokens stand, and that do not speak of another case."""
    for line in beside.words:
        for found in (_TWO_IDS.search(line.text), _TWO_TEXTS.search(line.text)):
            if found and not _NOT_SO.search(line.text[: found.start()]):
                yield line
    yield from _answered(beside.words)


def _answered(lines: list[Line]) -> Iterator[Line]:
    """Ids that are printed below what asks for them, and begin with two of one start token."""
    for line, below in pairwise(lines):
        if _ASKS_IDS.search(line.text) and _ONLY_TWO.match(below.text):
            yield below


def _by_code(beside: Beside) -> list[Line]:
    """The line that renders, and the one that tokenizes what was rendered."""
    rendered, names = None, set()
    for line, statement in statements(beside):
        for call in calls(statement):
            if name_of(call.func) == "apply_chat_template" and _is_text(call):
                rendered = rendered or line
                names |= _targets(statement)
            elif rendered and _encodes(call, names):
                return [rendered, line]
        for target, value in bound(statement):
            if name_of(target) and _WRITES_ONE.match(ast.unparse(value)):
                rendered = rendered or line
                names.add(name_of(target))
    for line in beside.words:  # a pipe in words: render (tokenize=False) -> tok(texts)
        found = _RENDERS.search(line.text)
        if found and _ENCODES.search(line.text, found.end()):
            return [line]
    return []


def _encodes(call: ast.Call, names: set[str]) -> bool:
    """Whether it tokenizes what has one of the names, and leaves the start token on."""
    if not call.args or not _ENCODES.search(ast.unparse(call)) or _is_clean(call):
        return False
    return not names or bool(names & _names(call.args[0]))


def _is_text(call: ast.Call) -> bool:
    given = {one.arg: one.value for one in call.keywords}
    value = given.get("tokenize")
    return isinstance(value, ast.Constant) and value.value is False


def _is_clean(call: ast.Call) -> bool:
    return any(one.arg == "add_special_tokens" for one in call.keywords)


def _targets(statement: ast.AST) -> set[str]:
    found = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return {name for one in found if one is not None for name in _names(one)}


def _names(node: ast.AST) -> set[str]:
    """Names and keys of an expression."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    words = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return names | {word for word in words if isinstance(word, str)}


def _one_more(beside: Beside) -> list[Line]:
    """A number of ids of a prompt that is one above what the server counts."""
    counts = [
        (line, int(m["n"] or m["m"] or m["k"]))
        for line in beside.words
        if (m := _LENGTH.search(line.text))
    ]
    served = [(line, int(m["n"])) for line in beside.words if (m := _SERVED.search(line.text))]
    for line, number in counts:
        for other, count in served:
            if number == count + 1:
                return [line, other]
    return []
