"""Replies that are cut out of decoded text at the length of a prompt that has its markers yet."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log

_EMPTY = re.compile(
    r"\b(?:pred\w*|repl(?:y|ies)|answer|output|completion|response|text)['\"]?\s*[=:]\s*(?:''|\"\")"
)
SURE = 9.1
TOO_MUCH = (
    "the evaluation cuts the reply at the wrong place: {cut} takes away as many characters as the "
    "text of the prompt has, and that text has the template's markers, which the decoded one "
    "lacks (skip_special_tokens=True). So the beginning of each reply is lost with them: a short "
    "reply is empty, and a long one lacks its first words. What was trained is not to blame"
)
BY_TOKENS = (
    "decode the new tokens alone, cut before decoding: tok.decode(out[0][enc['input_ids']"
    ".shape[1]:]); evaluate both models again, the model need not be trained again"
)


def cut_with_its_markers(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that slices decoded text without markers at len() of a rendered prompt."""
    made: dict[str, tuple[str, Line]] = {}
    for line, statement in statements(beside):
        means = _meanings(statement)
        for node in ast.walk(statement):
            if (names := _sliced(node, means)) and _is_such_a_cut(names, made):
                yield _told(line, ast.unparse(node), names, made, beside)
                return
        for target, value in bound(statement):
            if name := name_of(target):
                made.pop(name, None)
                if kind := _kind(value):
                    made[name] = (kind, line)


def _told(line: Line, cut: str, names: tuple, made: dict, beside: Beside) -> Finding:
    lines = dict.fromkeys([*(made[name][1] for name in reversed(names)), line])
    proof = [f"{one.where} says: {one.text.strip()[:MAX_QUOTE]}" for one in lines]
    if empty := beside.matching(_EMPTY):
        proof.append(f"{empty[0].where} says: {empty[0].text.strip()[:MAX_QUOTE]}")
    why = TOO_MUCH.format(cut=cut)
    return Finding("reply_cut_within_prompt", SURE, line, tuple(proof), why=why, advice=BY_TOKENS)


def _is_such_a_cut(names: tuple[str, str], made: dict[str, tuple[str, Line]]) -> bool:
    kinds = [made[name][0] if name in made else "" for name in names]
    return kinds == ["decoded", "rendered"]


def _kind(value: ast.expr) -> str:
    """Whether a value is a prompt rendered as text, or whole text decoded without markers."""
    for call in calls(value):
        told = {one.arg: one.value for one in call.keywords}
        if name_of(call.func) == "apply_chat_template" and _is(told.get("tokenize"), False):
            return "rendered"
        is_decoded = name_of(call.func) in ("decode", "batch_decode")
        if is_decoded and _is(told.get("skip_special_tokens"), True):
            return "" if _is_cut(call) else "decoded"
    return ""


def _is(node: ast.AST | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _is_cut(call: ast.Call) -> bool:
    """Whether what is decoded was cut by tokens before."""
    return any(isinstance(one, ast.Slice) for arg in call.args for one in ast.walk(arg))


def _sliced(node: ast.AST, means: dict[str, str]) -> tuple[str, str] | None:
    """What is sliced and whose length it is cut at: of text[len(prompt):] both names."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return None
    low, of = node.slice.lower, name_of(node.value)
    if not isinstance(low, ast.Call) or name_of(low.func) != "len" or len(low.args) != 1:
        return None
    prompt = name_of(low.args[0])
    return (means.get(of, of), means.get(prompt, prompt)) if of and prompt else None


def _meanings(statement: ast.stmt) -> dict[str, str]:
    """What the names of loops stand for: `for t, p in zip(texts, prompts)`."""
    means: dict[str, str] = {}
    for node in ast.walk(statement):
        if not isinstance(node, ast.For | ast.comprehension):
            continue
        over = node.iter
        many = isinstance(over, ast.Call) and name_of(over.func) == "zip"
        names = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        of = over.args if many else [over]
        means |= {name_of(a): name_of(b) for a, b in zip(names, of, strict=False)}
    return {name: of for name, of in means.items() if name and of}
