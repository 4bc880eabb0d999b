"""Rows without the answers: the column that is read is empty, or is the question alone."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.stated.labels.learnt_ends import IDS

_MAPPED = re.compile(
    r"['\"]?(?:response|output|answer|completion|assistant|chosen|field_output|label_field|target)"
    r"['\"]?\s*[:=]\s*['\"]?(?P<column>\w+)",
    re.IGNORECASE,
)
_EMPTY = r"['\"]{0}['\"]\s*:\s*(?:['\"]\s*['\"]|null|None|\[\s*\])"
_OTHER = re.compile(r"['\"](?P<name>\w+)['\"]\s*:\s*['\"](?P<text>[^'\"]{25,})")
_LABELS = re.compile(r"\blabels?(?:_ids)?\b['\"]?\s*[:=]", re.IGNORECASE)
_ENDS = re.compile(
    r"^\W*(?:<\|im_end\|>|<\|eot_id\|>|</s>|<\|endoftext\|>|<\|end_of_text\|>|<end_of_turn>|<eos>|"
    r"<\|end\|>|<[|\uff5c]end[\u2581_]of[\u2581_]sentence[|\uff5c]>)\s*(?:\\n)?['\"]?\s*$"
)
_IDS = re.compile(r"\[(?P<of>(?:\s*-100\s*,){3,}[\s\d,]*)\]")
_FIELD = re.compile(
    r"\b(?:dataset_text_field|text_field|text_column(?:_name)?|field)['\"]?\s*[:=]\s*['\"]?"
    r"(?P<name>instruction|question|prompt|query|input|inputs|context|problem|user|title|source)\b"
)
_ANSWERS = re.compile(
    r"['\"](?P<name>response|responses|output|outputs|answer|answers|completion|reply|target|"
    r"solution|summary|chosen|generated_solution|accepted_answer)['\"]"
)
_FEATURES = re.compile(r"\bfeatures\b|\bcolumn_names\b|\bcolumns\b|^\W*\{['\"]")
_LISTED = re.compile(  # in words: "columns: question, answer"
    r"\b(?:columns?|fields?|features)\b[^.\n]*\b(?P<name>responses?|outputs?|answers?|completion|reply|"
    r"solution|summary)\b",
    re.IGNORECASE,
)
_KNOWN = re.compile(  # data sets that have an answer in a column of its own
    r"\bdolly\b|\balpaca\b|\bgsm8k\b|\bsquad\b|\bopenorca\b|\bmetamath|\bcode[-_]?alpaca|\bno_robots",
    re.IGNORECASE,
)
_USES = re.compile(
    r"formatting_func|\bformatting_prompts_func|['\"](?:messages|completion)['\"]|completion_only|"
    r"apply_chat_template"
)
FIRST, SMALL, FEW, MOST_LINES = 0.2, 0.01, 3, 10
SURE, SEEN = 9.3, 7.4
EMPTY = (
    "the replies to learn from are empty: {what}. So the labels of a row are its end alone, which "
    "is learnt at once: the loss falls to 0, and the model ends its turn without a word"
)
OF_COLUMN = "the answer is read from the column {column}, which holds nothing{other}"
IN_OTHER = ", while the text stands in {name}"
OF_LABELS = "the labels of the row that is shown are the end of the turn and nothing else"
MAP_IT = (
    "map the reply to the column that holds the text{name}, drop rows without a reply, see the "
    "answer in the labels of a printed row, and train again"
)
QUESTION = (
    "the rows hold the question alone: the text to learn is read from the column {column}, and "
    "{answers} is used nowhere. The model learns to write questions, and to go on with the next"
)
BOTH = (
    "make one text of question and answer (a formatting function or the chat template), or columns "
    "prompt and completion, and end it with the eos token; print one decoded row, and train again"
)


def reply_column(beside: Beside, log: Log) -> Iterator[Finding]:
    """A column of replies that is empty in the row that is shown, or labels of an end alone."""
    column, labels = _empty_column(beside), _only_the_end(beside)
    falls = _falls_to_nothing(log)
    if column is None and not (labels and falls):
        yield from _question_alone(beside)
        return
    other = _other_column(column[1]) if column else ""
    what = OF_LABELS
    if column:
        named = IN_OTHER.format(name=other) if other else ""
        what = OF_COLUMN.format(column=column[2], other=named)
    told = [*(column[:2] if column else ()), *([labels] if labels else [])]
    proof = [*dict.fromkeys(one.says for one in told), *([falls] if falls else [])]
    advice = MAP_IT.format(name=f" ({other})" if other else "")
    weight = SURE if labels or falls else SEEN
    at = labels or told[0]
    why = EMPTY.format(what=what)
    yield Finding("replies_empty", weight, at, tuple(proof), why=why, advice=advice)


def _empty_column(beside: Beside) -> tuple[Line, Line, str] | None:
    """The line that maps the reply to a column, a row in which that is empty, and its name."""
    for line in beside.words:
        for found in _MAPPED.finditer(line.text):
            empty = re.compile(_EMPTY.format(re.escape(found["column"])))
            row = next((x for x in beside.words if empty.search(x.text)), None)
            if row and row is not line and _other_column(row):
                return line, row, found["column"]
    return None


def _other_column(row: Line) -> str:
    """The last column of a row that holds a text."""
    found = [one["name"] for one in _OTHER.finditer(row.text)]
    return found[-1] if len(found) > 1 else ""


def _only_the_end(beside: Beside) -> Line | None:
    """Labels that are shown as the end of a turn, or as ids with one that is learnt."""
    lines = beside.words
    known = {str(one) for ids in IDS.values() for one in ids}
    for number, line in enumerate(lines):
        if not (found := _LABELS.search(line.text)):
            continue
        below = [one.text for one in lines[number + 1 : number + MOST_LINES]]
        rest = line.text[found.end() :].strip()
        if _ENDS.match(rest or "".join(below[:1])):
            return line
        row = _IDS.search(" ".join([rest, *below]))
        learnt = [one for one in re.findall(r"-?\d+", row["of"]) if one != "-100"] if row else []
        if 0 < len(learnt) < FEW and learnt[0] in known:
            return line
    return None


def _falls_to_nothing(log: Log) -> str:
    """How the loss falls from that of words to nothing."""
    series = log.series("loss")
    if len(series) < FEW or not (series[0][1] > FIRST and 0 <= series[-1][1] < SMALL):
        return ""
    first, last = series[0][0], series[-1][0]
    return f"{said(first, 'loss')} at {first.where}, {said(last, 'loss')} at {last.where}"


def _question_alone(beside: Beside) -> Iterator[Finding]:
    """A text field that is the question, where a column of answers is there and is not used."""
    field = beside.first(_FIELD)
    if field is None or beside.matching(_USES) or _makes(field[1]["name"], beside):
        return
    answers = _answers(beside)
    if answers is None:
        return
    name = field[1]["name"]
    proof = (field[0].says, answers[0].says)
    why = QUESTION.format(column=name, answers=answers[1])
    yield Finding("replies_empty", SEEN, field[0], proof, why=why, advice=BOTH)


def _answers(beside: Beside) -> tuple[Line | Entry, str] | None:
    """A column of answers among the features or in a row, or a data set that has one."""
    for line in beside.words:
        found = _ANSWERS.search(line.text) if _FEATURES.search(line.text) else None
        found = found or _LISTED.search(line.text)
        if found and not _FIELD.search(line.text):
            return line, f"the column {found['name']}"
    known = beside.first(_KNOWN)
    return (known[0], "the column of the answers") if known else None


def _makes(name: str, beside: Beside) -> bool:
    """Whether code writes that column, which may then hold the answer as well."""
    made = re.compile(
        rf"['\"]{name}['\"]\s*\]?\s*(?::|=)\s*(?!['\"])\S|\bdef \w*(?:format|template)"
    )
    return any(made.search(one.text) for one in beside.words if not _FEATURES.search(one.text))
