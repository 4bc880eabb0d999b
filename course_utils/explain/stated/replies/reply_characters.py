"""Replies that are cut out of a text at the length of another text, by characters."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_MARKS = re.compile(r"<\|\w+\|>|<s>|\[INST\]|<start_of_turn>|<\w*bos\w*>|<\uff5c")
_EMPTY = re.compile(
    r"(?:\b(?:pred\w*|reply|answer|output|completion|text)\s*[=:]\s*|\s{2,})(['\"])\1"
)
SURE, SHOWN = 8.8, 9.3
TOO_LATE = (
    "the reply is cut out by characters ({cut}), at the length of another text: the prompt still "
    "has the marks of its template ({prompt}), and the text that is cut was decoded without "
    "special tokens ({text}), so it is shorter by all of them. The cut comes too late: as many "
    "characters of each reply are lost at its beginning as these marks have, and short replies are "
    "lost whole"
)
BY_TOKENS = (
    "decode the new tokens alone, tok.decode(out[0][input_ids.shape[1]:], "
    "skip_special_tokens=True), and score again; the model need not be trained again, and neither "
    "the sampling nor the length of replies is to blame"
)


def cut_by_characters(beside: Beside, log: Log) -> Iterator[Finding]:
    """`text[len(prompt):]` of a text without special tokens and a prompt with them."""
    prompts: dict[str, Line] = {}
    texts: dict[str, Line] = {}
    for line, statement in statements(beside):
        _alias(statement, prompts, texts)
        for target, value in bound(statement):
            name = _key(target)
            prompts.pop(name, None)
            texts.pop(name, None)
            if _renders(value):
                prompts[name] = line
            elif _decodes_all(value):
                texts[name] = line
        for cut, text, prompt in _cuts(statement):
            if text not in texts or prompt not in prompts:
                continue
            shown = [prompts[prompt], texts[text], line]
            empty = beside.matching(_EMPTY)
            shown += [empty[0]] if empty else []
            said = (one.says for one in shown)
            why = TOO_LATE.format(cut=cut, prompt=prompts[prompt].where, text=texts[text].where)
            of = ("reply_cut_within_prompt", SHOWN if empty else SURE, line)
            yield Finding(*of, tuple(dict.fromkeys(said)), why=why, advice=BY_TOKENS)
            return


def _key(node: ast.AST | None) -> str:
    """A name, or the key of a row such as row["prompt"]."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return name_of(node)


def _renders(value: ast.expr) -> bool:
    """Whether it is text with the marks of turns: of a template, or written out."""
    for call in calls(value):
        given = {one.arg: one.value for one in call.keywords}
        of_text = isinstance(given.get("tokenize"), ast.Constant) and not given["tokenize"].value
        if name_of(call.func) == "apply_chat_template" and of_text:
            return True
    words = [one.value for one in ast.walk(value) if isinstance(one, ast.Constant)]
    is_text = isinstance(value, ast.Constant | ast.JoinedStr | ast.BinOp)
    return is_text and any(isinstance(one, str) and _MARKS.search(one) for one in words)


def _decodes_all(value: ast.expr) -> bool:
    """Whether it decodes all that was generated, without special tokens."""
    for call in calls(value):
        given = {one.arg: one.value for one in call.keywords}
        skips = given.get("skip_special_tokens")
        if name_of(call.func) not in ("decode", "batch_decode") or not call.args:
            continue
        if isinstance(skips, ast.Constant) and skips.value is True:
            return not any(isinstance(one, ast.Slice) for one in ast.walk(value))
    return False


def _cuts(statement: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Each cut, and the names of its text and of what that is cut at the length of."""
    for one in ast.walk(statement):
        is_cut = isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice)
        low = one.slice.lower if is_cut else None
        if isinstance(low, ast.Call) and name_of(low.func) == "len" and len(low.args) == 1:
            yield ast.unparse(one), _key(one.value), _key(low.args[0])


def _alias(statement: ast.AST, *known: dict[str, Line]) -> None:
    """The names of a loop stand for rows of what it runs over."""
    loops = [(statement.target, statement.iter)] if isinstance(statement, ast.For) else []
    loops += [
        (one.target, one.iter) for one in ast.walk(statement) if isinstance(one, ast.comprehension)
    ]
    for target, over in loops:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        of = [over]
        if isinstance(over, ast.Call) and name_of(over.func) in ("zip", "enumerate"):
            of = over.args
            names = names[1:] if name_of(over.func) == "enumerate" else names
        for name, one in zip(names, of, strict=False):
            for some in known:
                if _key(one) in some:
                    some[_key(name)] = some[_key(one)]
