"""Code that makes a row of prompt and answer and puts no end behind it, and replies that run on."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of, statements
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.stated.calls.given import written
from course_utils.explain.stated.calls.tokens import TWO_PARTS
from course_utils.explain.stated.replies.running_on import runs_on

_ADDS_END = re.compile(
    r"\+\s*\[?\s*[\w.]*eos|\{[^{}]*eos[^{}]*\}|\[\s*[\w.]*eos\w*\s*\]|\badd_eos\w*['\"]?\W{1,3}true|"
    r"(?:append|extend|format|join|cat|concat\w*)\([^)]*eos|=\s*[\w.]*eos\w*\s*\+|"
    r"\bapply_chat_template|\bTemplateProcessing|\bAdding EOS|\bchat_template\b|"
    r"\bpack(?:ing|ed)['\"]?\s*[=:]\s*['\"]?true|\breturn\b.*\+.*\beos",
    re.IGNORECASE,
)
_WRITTEN_END = re.compile(
    r"</s>|<\|im_end\|>|<\|eot_id\|>|<\|end\w*\|>|<end_of_turn>|<eos>|<EOS>|\[EOS\]|<\|END\w*\|>"
)
_OF_SETTING = re.compile(r"\b(?:eos|pad)(?:_token)?(?:_id)?\b|\bprint\(|>>>", re.IGNORECASE)
_TRL = re.compile(r"\btrl(?:\s|[=:v@-]){1,4}(?P<major>\d+)\.(?P<minor>\d+)", re.IGNORECASE)
_SFT = re.compile(r"\bSFT(?:Trainer|Config)\b")
ADDS_ITSELF = (0, 15)  # from that version on TRL's SFTTrainer puts the end there
_ROW = re.compile(
    r"text|row|sample|example|full|prompt|sequence|input_ids|ids|labels?|conversation|instance|"
    r"formatted|merged|train|^enc|^tok|^(?:model_)?inputs$|^batch$|^out$",
    re.IGNORECASE,
)
_ANSWER = re.compile(
    r"output|answer|respon[sd]|complet|repl[yi]|target|tgt|summar|label|assistant|solution|chosen|"
    r"translation|\bsql\b|\bcode\b|\b(?:a|s|y|r|ans|resp|out)\b",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"### ?\w[\w ]{0,20}:?|\b(?:Question|User|Human|Input|Customer|Instruction|Query)\s*:"
)
_TAIL = re.compile(r"\[\s*-\d+\s*:\s*\]")
_IDS = re.compile(r"\[\s*(?P<ids>\d+(?:\s*,\s*\d+)+)\s*\]")
_EOS_ID = re.compile(r"\beos_token_id\b\D{0,12}(?P<id>\d+)\b")
_NUMBER_ALONE = re.compile(r"^\W*(?P<id>\d{1,6})\W*$")
AGAIN = 2  # times the mark of a question stands behind the log
SURE, SEEN = 7.6, 7.2
NO_END = (
    "no end stands in the rows: the code puts prompt and answer together and appends no eos token, "
    "and nothing here shows that tokenizer or trainer do. So no row tells where an answer is over, "
    "and the model goes on{how} until the limit; no sampling setting, and no bug of the tokenizer, "
    "is needed for that"
)
ASKS_AGAIN = " with the next {mark} of the training"
APPEND = (
    "append tokenizer.eos_token to the text of each row (or its id to ids and labels, so that it "
    "has a label and is not cut off), see that the last id of a row is eos_token_id, and train "
    "again; pad with another token than the end"
)


def no_end_added(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows that are made without an end, or shown without one, and replies that do not end."""
    lines = beside.words
    if log.kind() != "supervised" or _has_end(beside):
        return
    made, shown = _made(beside), _shown_tail(lines)
    marks = _asked_again(made, beside) if made else []
    endless = [*marks[:1], *runs_on(lines)]
    if not (made or shown) or not endless:
        return
    at = made or shown
    told = [one for one in (made, shown, *endless[:2]) if one]
    proof = dict.fromkeys(one.says for one in told)
    mark = _MARK.search(marks[0].text)[0] if marks else ""
    how = ASKS_AGAIN.format(mark=f'"{mark}"') if mark else ""
    weight = SURE if made and (shown or marks) else SEEN
    of = ("end_missing", weight, at, tuple(proof))
    yield Finding(*of, why=NO_END.format(how=how), advice=APPEND)


def _has_end(beside: Beside) -> bool:
    """Whether anything may put an end there: code, a written one, the trainer or the model."""
    if beside.matching(TWO_PARTS) or beside.matching(_ADDS_END):
        return True
    code = (x.text for x in beside.words if not is_prose(x.text) and not _OF_SETTING.search(x.text))
    if any(_WRITTEN_END.search(text) for text in code):
        return True
    version = beside.first(_TRL) if beside.matching(_SFT) else None
    found = version[1] if version else None
    return bool(found) and (int(found["major"]), int(found["minor"])) >= ADDS_ITSELF


def _made(beside: Beside) -> Line | None:
    """The statement that puts an answer behind its prompt."""
    for line, statement in statements(beside):
        dicts = (one for one in ast.walk(statement) if isinstance(one, ast.Dict))
        pairs = [(k, v) for one in dicts for k, v in zip(one.keys, one.values, strict=True) if k]
        for target, value in [*bound(statement), *pairs, *_returned(statement)]:
            if _ROW.search(written(target)) and _ANSWER.search(_last_part(value)):
                return line
    return None


def _returned(statement: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """What a function returns, as the text of a row."""
    if not isinstance(statement, ast.Return) or statement.value is None:
        return []
    return [(ast.Name("text"), statement.value)]


def _last_part(value: ast.AST) -> str:
    """The last of the parts that a text or a list of ids is put together of; "" for others."""
    for node in ast.walk(value):
        if isinstance(node, ast.JoinedStr):
            filled = [one for one in node.values if isinstance(one, ast.FormattedValue)]
            is_last = bool(filled) and not _is_text(node.values[-1])
            return ast.unparse(filled[-1].value) if is_last and len(filled) > 1 else ""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return "" if isinstance(node.right, ast.Constant) else ast.unparse(node.right)
        if isinstance(node, ast.Call) and name_of(node.func) == "format":
            given = [*node.args, *(one.value for one in node.keywords)]
            return ast.unparse(given[-1]) if len(given) > 1 else ""
    return ""


def _is_text(node: ast.AST) -> bool:
    """Whether it is words that follow the last field, and no more than blanks."""
    return isinstance(node, ast.Constant) and bool(str(node.value).strip())


def _asked_again(made: Line, beside: Beside) -> list[Line]:
    """The lines behind the code and the log in which the mark of a question stands again."""
    code = {m for line in beside.words if place(line) <= place(made) for m in _marks(line)}
    behind = [x for n, x in beside.lines if n == beside.num_entries and place(x) > place(made)]
    for mark in code:
        found = [x for x in behind for _ in range(x.text.count(mark))]
        if len(found) >= AGAIN:
            return found[1:]
    return []


def _marks(line: Line) -> list[str]:
    return [one.strip() for one in _MARK.findall(line.text)]


def _shown_tail(lines: list[Line]) -> Line | None:
    """The last ids of a row, which are printed and do not end with the printed id of the end."""
    ends = {m["id"] for line in lines for m in _EOS_ID.finditer(line.text)}
    for line, below in pairwise([*lines, Line("", "")]):
        if "eos_token_id" in line.text and (found := _NUMBER_ALONE.match(below.text)):
            ends.add(found["id"])
    for line, below in pairwise([*lines, Line("", "")]):
        if not (asked := _TAIL.search(line.text)):
            continue
        ids = _IDS.search(line.text, asked.end()) or _IDS.search(below.text)
        if ids and ends and re.findall(r"\d+", ids["ids"])[-1] not in ends:
            return line
    return None
