"""Code that gives the tokens of tools and environments the mask 1, as if the policy had written
them."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.labels.tools_in_mask import LEAVE_OUT

_CODE = re.compile(r"mask|labels", re.IGNORECASE)
_MASK = re.compile(
    r"(?:response|loss|action|completion|assistant|reply|train|policy)?_?mask|^labels$"
)
_ATTENTION = re.compile(r"attention|pad|causal", re.IGNORECASE)
_PROMPT = re.compile(r"^(?:prompt|system|user|question|input|query|human)$", re.IGNORECASE)
_OTHERS = re.compile(
    r"['\"](?P<kind>tool|tools|information|obs\w*|env\w*|search\w*|retriev\w*|documents?|"
    r"interpreter|sandbox|function|ipython|feedback|tool_\w+)['\"]",
    re.IGNORECASE,
)
_OF_TOOLS = re.compile(
    r"tool|sandbox|interpret|exec|run_(?:code|python|sql|query)|search|retriev|observ|\bobs\b|"
    r"env\b|\.step|stdout|browser|feedback|information",
    re.IGNORECASE,
)
_SAMPLES = re.compile(r"generat|sample|\bllm\b|policy|complet|chat|rollout", re.IGNORECASE)
_TO_IDS = re.compile(r"tok|encode|tensor|ids", re.IGNORECASE)
_ZEROS = re.compile(r"\[\s*0\s*\]\s*\*|zeros|\.append\(0\)|masked_fill|\*=|=\s*0\s*$")
MOST = 30  # names that are followed
SURE, SHOWN = 8.9, 8.2
BY_KIND = (
    "the tokens that a tool or environment wrote are in the loss: only {kind} gets the mask 0, and "
    "{other}, which the policy did not write, gets 1. Their gradient teaches the policy to write "
    "such results by itself, in place of calling the tool"
)
WHOLE_REPLY = (
    "the tokens that a tool or environment wrote are in the loss: the mask is 1 over all of "
    "`{name}`, and that holds what {tool} gave as well as what the policy wrote. Their gradient "
    "teaches the policy to write such results by itself, and since it never sampled them, their "
    "probabilities in sampler and trainer differ"
)


def tools_in_the_code(beside: Beside, log: Log) -> Iterator[Finding]:
    """A mask that leaves the prompt out alone, or is 1 over a reply with a tool's output in it."""
    if not beside.matching(_CODE):
        return
    rows = list(statements(beside))
    found = next(_by_kind(rows, beside), None) or next(_whole_reply(rows), None)
    if found:
        weight, lines, why = found
        proof = tuple(dict.fromkeys(line.says for line in lines))
        yield Finding("tool_results_learnt", weight, lines[0], proof, why=why, advice=LEAVE_OUT)


Found = tuple[float, list[Line], str]


def _by_kind(rows: list[tuple[Line, ast.stmt]], beside: Beside) -> Iterator[Found]:
    """`0 if kind == "prompt" else 1` where there are segments of a tool, too."""
    other = beside.first(_OTHERS)
    for line, statement in rows if other else ():
        if not any(_is_mask(name) for name in _targets(statement)):
            continue
        for node in ast.walk(statement):
            kinds = _left_out(node)
            if kinds and all(map(_PROMPT.match, kinds)):
                named = " and ".join(kinds)
                why = BY_KIND.format(kind=named, other=other[1]["kind"])
                yield SURE, [line, other[0]], why


def _left_out(node: ast.AST) -> list[str]:
    """The kinds that alone get a 0, by a condition or a comparison with one or several texts."""
    if isinstance(node, ast.IfExp):
        values = [getattr(one, "value", None) for one in (node.body, node.orelse)]
        same, other = ast.Eq, ast.NotEq
        if values == [0, 1]:
            return _texts(node.test, same, ast.In)
        return _texts(node.test, other, ast.NotIn) if values == [1, 0] else []
    if isinstance(node, ast.Call) and name_of(node.func) in ("int", "float"):
        return _texts(node.args[0], ast.NotEq, ast.NotIn) if node.args else []
    return []


def _texts(test: ast.AST, *kinds: type) -> list[str]:
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], kinds):
        return []
    parts = ast.walk(test.comparators[0])
    return [
        one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]


def _whole_reply(rows: list[tuple[Line, ast.stmt]]) -> Iterator[Found]:
    """`mask = [1] * len(reply)` where a tool's output was added to the reply."""
    held: dict[str, list[tuple[Line, str]]] = {}
    if any(_is_zeroed(line, one) for line, one in rows):
        return
    for line, statement in rows:
        for target, value in _given(statement):
            name, text = name_of(target), ast.unparse(value)
            if _is_mask(name) and (of := _of_ones(value)):
                sources = held.get(of, [])
                tool = next((one for one in sources if _OF_TOOLS.search(one[1])), None)
                is_sampled = any(_SAMPLES.search(one[1]) for one in sources)
                if tool and is_sampled:
                    why = WHOLE_REPLY.format(name=of, tool=f"`{tool[1][:60]}`")
                    yield SHOWN, [line, tool[0]], why
            names = {name_of(one) for one in ast.walk(value)} - {""}
            before = [one for other in names for one in held.get(other, [])]
            kept = held.get(name, []) if _adds(statement) or name in names else []
            held[name] = [*kept, *before, (line, text)][:MOST]


def _given(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a statement assigns or adds to what: of `a += b`, `a.append(b)` and `a.extend(b)`, and
    a mask that it gives by its name."""
    yield from bound(statement)
    yield from ((ast.Name(name), one) for name, one in _by_name(statement) if _is_mask(name))
    if isinstance(statement, ast.AugAssign):
        yield statement.target, statement.value
    for call in calls(statement):
        if name_of(call.func) in ("append", "extend") and isinstance(call.func, ast.Attribute):
            yield from ((call.func.value, one) for one in call.args[:1])


def _by_name(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of calls and the items of dicts."""
    for one in ast.walk(statement):
        if isinstance(one, ast.keyword):
            yield one.arg or "", one.value
        if isinstance(one, ast.Dict):
            items = zip(one.keys, one.values, strict=True)
            yield from ((str(k.value), v) for k, v in items if isinstance(k, ast.Constant))


def _adds(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.AugAssign, ast.Expr))


def _of_ones(value: ast.expr) -> str:
    """The name over whose length a value is 1: a of `[1] * len(a)`, `ones(len(a))`."""
    text = ast.unparse(value)
    if not re.search(r"\[1(?:\.0)?\] \* len\(|\bones(?:_like)?\(", text):
        return ""
    inner = [one for one in calls(value) if name_of(one.func) in ("len", "ones_like")]
    names = (name_of(arg) for one in inner for arg in one.args[:1])
    return next(filter(None, names), "")


def _is_zeroed(line: Line, statement: ast.stmt) -> bool:
    """Whether a statement gives a part of a mask the value 0."""
    named = any(_is_mask(name) for name in _targets(statement))
    return named and bool(_ZEROS.search(ast.unparse(statement)))


def _targets(statement: ast.stmt) -> Iterator[str]:
    for target, _ in _given(statement):
        yield name_of(target.value if isinstance(target, ast.Subscript) else target)


def _is_mask(name: str) -> bool:
    return bool(_MASK.search(name)) and not _ATTENTION.search(name)
