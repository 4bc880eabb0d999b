"""A function of whole batches that makes one row of each: a thousandth of the rows is left."""

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import calls, last_number, name_of, statements
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log

_N = r"\d[\d,]*"
_BEFORE = re.compile(
    rf"\bnum_rows\W{{1,3}}(?P<a>{_N})|(?<![\d/])(?P<b>{_N})/(?P=b)\s*\[|"
    rf"(?<![\w.])(?P<c>{_N})\s*(?:[A-Za-z/&-]+ ){{0,2}}"
    r"(?:rows|examples|samples|pairs|lines|records|instructions|questions)\b|"
    rf"\b(?:have|has|of|with)\s+(?P<d>{_N})(?![\d.]*\w)|\blen\([^)]*\)\W{{1,12}}(?P<e>{_N})\b|"
    rf"\bgenerating \w+ split\b.*?(?P<f>{_N}) examples",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"\bnum[_ ]examples\W{{1,4}}(?P<a>{_N})\b(?!\.)|\bnum_rows\W{{1,3}}(?P<b>{_N})|"
    rf"\b(?:trains? on|only|just|to|becomes?|left with|shows?|says?)\s+(?P<c>{_N})\s*"
    r"(?:rows|examples|samples|steps)\b|"
    rf"\blen\([^)]*\)\W{{1,12}}(?P<d>{_N})\b|(?<![\d/])(?P<e>{_N})/(?P=e)\s*\[",
    re.IGNORECASE,
)
_BATCHED = re.compile(
    r"\bbatched\s*=\s*True|\bformatting_func\w*|\bformatting_prompts_func|\bdef \w*format\w*\(|"
    r"\.map\("
)
_SIZE = re.compile(r"\.map\(.*\bbatch_size\s*=\s*(\d+)")
_WORKERS = re.compile(r"\bnum_proc\s*=\s*(\d+)")
_LIST_IN_TEXT = re.compile(
    r"(?:[A-Za-z]\w*\s?:|\n|^|\\n|\]|>|\"|')\s*\[\s*(?P<q>['\"])[^'\"\[\]]{2,}(?P=q)\s*,\s*['\"]"
)
_CODE = re.compile(
    r"\b\w+\s*=\s*\[|\(\s*\[|['\"]\w+['\"]\s*:\s*\[|"
    r"\b(?:features|column\w*|\w*modules|choices|options|labels?|stop)['\"]?\s*:\s*\["
)
_PACKS = re.compile(r"\bpack(?:ing|ed)['\"]?\s*[=:]\s*['\"]?true\b", re.IGNORECASE)
DEFAULT, FEWEST = 1000, 2000  # rows of a batch of datasets; rows below which no sum is told by it
SURE, SEEN, BY_CODE = 9.2, 8.2, 6.4
ONE_EACH = (
    "each batch of {size} rows becomes one row: the function that makes the text is called with a "
    "batch (every column of it is a list), and returns one text for all of it. {counts}So the "
    "texts hold Python lists of questions and then lists of answers, cut at the length limit, and "
    "that is what the model learns to write"
)
LOOP = (
    "loop over the rows of the batch and return as many texts (for q, a in "
    "zip(batch['question'], batch['answer'])), or map without batched=True and return one text; "
    "then see that num_rows is as before, read one decoded row, and train again"
)


@dataclass(frozen=True)
class _Counts:
    before: tuple[Line, int]
    after: tuple[Line, int]
    size: int

    @property
    def said(self) -> str:
        before, after = self.before[1], self.after[1]
        return f"{before:,} rows in batches of {self.size:,} are {after:,} rows. "

    @property
    def proof(self) -> list[str]:
        return [self.before[0].says, self.after[0].says]


def batch_as_one_row(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows that are as many as there were batches, texts that hold lists, and code that makes
    them."""
    if beside.matching(_PACKS) or not beside.matching(_BATCHED):
        return
    counts, lists, code = _counts(beside), _lists(beside), _one_text(beside)
    if not (counts and (lists or code)) and not (lists and code) and not _is_certain(counts):
        return
    proof = counts.proof if counts else []
    proof += [one.says for one in (code, lists) if one]
    at = counts.after[0] if counts else code
    weight = SURE if counts and (lists or code) else SEEN if counts else BY_CODE
    size = counts.size if counts else DEFAULT
    why = ONE_EACH.format(size=f"{size:,}", counts=counts.said if counts else "")
    yield Finding("batch_as_one_row", weight, at, tuple(dict.fromkeys(proof)), why=why, advice=LOOP)


def _is_certain(counts: _Counts | None) -> bool:
    """Whether a chance of the two numbers is next to none."""
    return counts is not None and counts.after[1] > 4 and "examples" in counts.after[0].text.lower()


def _counts(beside: Beside) -> _Counts | None:
    """Two numbers of rows, of which one is that of the batches of the other."""
    sizes = [int(_SIZE.search(words)[1]) for _, words in beside.all_matching(_SIZE)] or [DEFAULT]
    workers = [int(_WORKERS.search(x)[1]) for _, x in beside.all_matching(_WORKERS)]
    most = max(workers, default=1)
    before, after = _numbers(_BEFORE, beside), _numbers(_AFTER, beside)
    for many in before:
        for few in after:
            for size in sizes:
                least = math.ceil(many[1] / size)
                if size > 1 and many[1] >= FEWEST and least <= few[1] < least + most:
                    return _Counts(many, few, size)
    return None


def _numbers(pattern: re.Pattern, beside: Beside) -> list[tuple[Line, int]]:
    return [
        (line, int(plain_number(next(filter(None, match.groups())))))
        for line in beside.words
        for match in pattern.finditer(line.text)
    ]


def _lists(beside: Beside) -> Line | None:
    """A text, of a row or a reply, in which a Python list of strings stands."""
    for line in beside.words:
        if _LIST_IN_TEXT.search(line.text) and not _CODE.search(line.text):
            return line
    return None


def _one_text(beside: Beside) -> Line | None:
    """The return of a function that makes one text of whole columns: no loop, and a list of one
    text, or a text in a call that is batched."""
    batched = beside.matching(re.compile(r"\bbatched\s*=\s*True"))
    argument, texts, is_looped, made = "", set(), False, None
    for line, one in statements(beside):
        if isinstance(one, ast.FunctionDef):
            argument = one.args.args[0].arg if len(one.args.args) == 1 else ""
            texts, is_looped, made = set(), False, None
        elif isinstance(one, ast.For | ast.While) or _has_loop(one):
            is_looped = True
        elif isinstance(one, ast.Assign) and argument and _fills(one.value, argument, texts):
            texts |= {name_of(target) for target in one.targets}
            made = line
        elif isinstance(one, ast.Return) and argument and not is_looped and one.value:
            is_text = _fills(one.value, argument, texts)
            if is_text and (_is_list_of_one(one.value) or batched):
                return made or line
    return None


def _has_loop(one: ast.AST) -> bool:
    is_loop = (ast.ListComp, ast.GeneratorExp, ast.DictComp)
    return any(isinstance(x, is_loop) for x in ast.walk(one)) or any(
        name_of(call.func) in ("zip", "map", "enumerate") for call in calls(one)
    )


def _fills(value: ast.AST, argument: str, texts: set[str]) -> bool:
    """Whether a text is filled with a whole column of the argument, or holds one that is."""
    for node in ast.walk(value):
        if isinstance(node, ast.Name) and node.id in texts:
            return True
        if isinstance(node, ast.JoinedStr) and any(_is_column(x, argument) for x in _parts(node)):
            return True
        is_format = isinstance(node, ast.Call) and name_of(node.func) == "format"
        if is_format and any(_is_column(one, argument) for one in _given(node)):
            return True
    return False


def _parts(node: ast.JoinedStr) -> list[ast.expr]:
    return [one.value for one in node.values if isinstance(one, ast.FormattedValue)]


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]


def _is_column(node: ast.AST, argument: str) -> bool:
    """Whether it is `argument["name"]`, and not one row of that column."""
    return (
        isinstance(node, ast.Subscript)
        and name_of(node.value) == argument
        and last_number(node.slice) is None
    )


def _is_list_of_one(value: ast.AST) -> bool:
    held = [value, *(value.values if isinstance(value, ast.Dict) else [])]
    return any(isinstance(x, ast.List) and len(x.elts) == 1 for x in held)
