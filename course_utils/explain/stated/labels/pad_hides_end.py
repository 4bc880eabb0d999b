"""A pad token that is the end token as well, and labels or a mask that hide it by its id."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import calls, last_number, name_of, statements
from course_utils.explain.paste.entries import Line, number_of
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.side_tables import side_tables
from course_utils.explain.stated.replies.running_on import runs_on

_IS_END = re.compile(
    r"\bpad_token(?:_id)?['\"]?\s*[=:]\s*[\w.]*\b(?:eos_token(?:_id)?|eos_id)\b|"
    r"\bpad_token['\"]?\s*[=:]\s*['\"](?:</s>|<\|im_end\|>|<\|eot_id\|>|<eos>)|"
    r"\bpad(?:ding)?(?:_token)?\s*(?:is|=|:)\s*(?:the )?eos(?:_token)?\b(?!['\"]?\s*[:=])",
    re.IGNORECASE,
)
_PAD = re.compile(
    r"\bpad(?:_token)?(?:_id)?['\"]?\s*(?:[=:]\s*|\s)['\"]?(?P<is><[^>\s]+>|\d+)", re.IGNORECASE
)
_END = re.compile(
    r"\beos(?:_token)?(?:_id)?['\"]?\s*(?:[=:]\s*|\s)['\"]?(?P<is><[^>\s]+>|\d+)", re.IGNORECASE
)
_OTHER_PAD = re.compile(
    r"\bpad_token(?:_id)?['\"]?\s*[:=]\s*['\"]<(?!/s>|\|im_end|\|eot_id|eos>)|"
    r"add_special_tokens\(\s*\{\s*['\"]pad_token['\"]\s*:(?!\s*[\w.]*eos_token)|"
    r"\bpad_token(?:_id)?\s*=\s*(?![\w.]*eos_token)[\w.]*(?:unk|convert_tokens_to_ids|reserved)"
)
_COLLATOR = re.compile(
    r"\bDataCollatorFor(?:LanguageModeling\((?!pad_token_id)(?!.*mlm\s*=\s*True)|CompletionOnlyLM\()",
    re.IGNORECASE,
)
_AS_LABEL = re.compile(r"\bas (?:an? )?labels?\b", re.IGNORECASE)
_ID_AND_COUNT = re.compile(r"(?<![\w.,])(?P<id>\d{1,6})\s*[:=]?\s+(?P<n>\d[\d,]*)\s*$")
_PACKS = re.compile(r"\bpack(?:ing|ed)['\"]?\s*[=:]\s*['\"]?true\b", re.IGNORECASE)
_BY_LENGTH = re.compile(
    r"attention_mask[^=]*==\s*0|(?:masked_fill|where)\([^)]*attention_mask|\barange\(.*\blen", re.I
)
SURE, SEEN, FEWEST = 9.0, 8.4, 4  # weights; rows of a table
HIDDEN = (
    "the end of a reply is not learnt: the pad token is the end token, and {how}, so that the real "
    "end of each row is hidden with the padding. The loss falls all the same, and the model never "
    "learns to stop"
)
BY_ID = "the labels are -100 wherever an id is that of the padding"
COLLATOR = "the collator sets the label of every pad id to -100"
NO_LABEL = "the id of the end ({end}) is never a label, by count"
MASKED = "the mask of each row is one token short, also where nothing is padded"


def pad_hides_end(beside: Beside, log: Log) -> Iterator[Finding]:
    """What says that both are one token, what hides it, and replies that run on."""
    lines = beside.words
    same = one_token(beside)
    if same is None or any(_PACKS.search(one.text) for one in lines):
        return
    at, end = same
    shown = [*_never_a_label(lines, end), *_one_short(beside)]
    hides = [*_by_id(beside), *_by_collator(lines)]
    endless = list(runs_on(lines))[:2]
    if not shown and not (hides and endless):
        return
    kept = re.compile(rf"\blabel\w*\b.*(?<!\d){end}\s*(?:,?\s*-100|\])" if end else r"(?!)")
    if not shown and any(_BY_LENGTH.search(x.text) or kept.search(x.text) for x in lines):
        return
    (line, how), weight = (*shown, *hides)[0], SURE if shown else SEEN
    told = [at, *(one for one, _ in (*shown, *hides)), *endless]
    proof = dict.fromkeys(one.says for one in told)
    yield Finding("pad_is_eos", weight, line, tuple(proof), why=HIDDEN.format(how=how))


def one_token(beside: Beside) -> tuple[Line, str] | None:
    """What makes one token of padding and end, with its id; None where another pad is set later."""
    same = next(_one_token(beside), None)
    is_undone = same and _IS_END.search(same[0].text) and beside.matching(_OTHER_PAD)
    return None if is_undone else same


def _one_token(beside: Beside) -> Iterator[tuple[Line, str]]:
    """The line that makes padding of the end, or prints one id or name for both; with the id."""
    for line in beside.words:
        if _IS_END.search(line.text):
            yield line, ""
    for line in beside.words:
        pad = {m["is"] for m in _PAD.finditer(line.text)}
        end = {m["is"] for m in _END.finditer(line.text)}
        if pad and pad == end:
            numbers = re.findall(r"(?<![\w.])\d{1,6}(?![\w.])", line.text)
            name = next(iter(end))
            yield line, name if name.isdigit() else next(iter(numbers), "")


def _by_id(beside: Beside) -> Iterator[tuple[Line, str]]:
    """Code that writes -100 where an id equals that of the padding."""
    for line, statement in statements(beside):
        for node in ast.walk(statement):
            if _asks_for_padding(node) and _writes_ignored(statement):
                yield line, BY_ID


def _asks_for_padding(node: ast.AST) -> bool:
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    if isinstance(node, ast.Call) and name_of(node.func) in ("eq", "ne"):
        sides = node.args
    return any(re.fullmatch(r"pad(?:_?token)?(?:_?id)?|PAD\w*", name_of(one)) for one in sides)


def _writes_ignored(statement: ast.AST) -> bool:
    names = [name_of(one.func) for one in calls(statement)]
    values = [one for one in ast.walk(statement) if isinstance(one, ast.Constant | ast.UnaryOp)]
    ignored = any(last_number(one) == -100 for one in values)
    names += [name_of(one) for one in ast.walk(statement) if isinstance(one, ast.Name)]
    return ignored or any(re.search(r"ignore_?(?:index|id)", name, re.I) for name in names)


def _by_collator(lines: list[Line]) -> Iterator[tuple[Line, str]]:
    for line in lines:
        if _COLLATOR.search(line.text):
            yield line, COLLATOR


def _never_a_label(lines: list[Line], end: str) -> Iterator[tuple[Line, str]]:
    """The count 0 of the end among the labels, where another id has some."""
    for number, line in enumerate(lines):
        if not end or not _AS_LABEL.search(line.text):
            continue
        found = [(x, m) for x in lines[number : number + 4] if (m := _ID_AND_COUNT.search(x.text))]
        counts = {m["id"]: (x, m["n"]) for x, m in found}
        if end in counts and counts[end][1] == "0" and any(n != "0" for _, n in counts.values()):
            yield counts[end][0], NO_LABEL.format(end=end)
            return


def _one_short(beside: Beside) -> Iterator[tuple[Line, str]]:
    """A table in which the mask of every row sums to one less than the row has tokens."""
    for table in side_tables(beside):
        mask = table.places(re.compile(r"mask", re.IGNORECASE))
        ids = table.places(re.compile(r"\b(?:n_|num_)?(?:ids|tokens|len)", re.IGNORECASE))
        if len(mask) != 1 or not ids or len(table.rows) < FEWEST:
            continue
        for place in ids:
            pairs = [(number_of(r[place]), number_of(r[mask[0]])) for _, r in table.rows]
            if all(None not in pair and pair[0] - pair[1] == 1 for pair in pairs):
                yield table.rows[0][0], MASKED
                return
