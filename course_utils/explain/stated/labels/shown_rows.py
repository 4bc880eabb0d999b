"""Rows of a batch that a log shows token by token, each as `text(label, id)`: what they teach."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line, plain_number
from course_utils.explain.paste.log import Log

IGNORED = "-100"
SHOWS = 9.5  # the row itself
FEWEST = 4  # tokens of a row
_COUNTS = re.compile(r"^(?=.*\b(?:sum|len|count)\w*\()(?=.*\ball\()(?=.*-100).*\blabels\b")
_ASKS_LENGTH = re.compile(r"\bmax\(.*\blen\(.*input_ids")
_NUMBER = re.compile(r"^\W*(?:np\.\w+\()?(\d[\d,]*)\W*$")
_ROWS = re.compile(r"Num examples\s*[=:]\s*([\d,]*\d)")
_OF_UNSLOTH = re.compile(r"\bFast\w*Model\.from_pretrained\(")
_SEQ_LENGTH = re.compile(r"\bmax_seq_length\s*=")
MANY = 0.1  # of all rows
WITHOUT_LABEL = (
    "{} of {} rows have no label (-100 throughout): what begins the reply is cut away or not found "
    "in them. They teach nothing, and a batch of such rows alone has a loss of 0 / 0, which is nan "
    "and breaks the weights"
)
OF_ANOTHER_LIMIT = ". The rows are cut at {} tokens, though {} is {}: another limit cuts them"
OF_UNSLOTH = (
    ", that of FastLanguageModel.from_pretrained, which has one of its own where no max_seq_length "
    "is given"
)
SET_IT = (
    "give max_seq_length={} to FastLanguageModel.from_pretrained, and drop the rows that then keep "
    "no label; begin anew, from weights that are not nan"
)
KEEP_REPLY = (
    "find what cuts the rows or misses the reply's beginning (a limit of the length, a template), "
    "and drop the rows that keep no label; begin anew, from weights that are not nan"
)
_TOKEN = re.compile(r"(\S*?)\((-?\d+), ?(\d+)\)")
_IS_END = re.compile(r"(?!.*(?:start|begin|bos|pad|unk))</?\|?[\w-]+\|?>", re.IGNORECASE)
_OPENS = re.compile(r"<\|[\w-]+>|<s>")  # of a pair as <|turn> and <turn|>, the one that opens
NAME_IT = (
    "name {end} as the token that ends a turn, so that what marks the reply includes it (axolotl: "
    "eot_tokens, train_on_eot; TRL: assistant_only_loss with a template that marks it); make the "
    "prepared rows anew, and see that its label is its id behind each reply"
)


def shown_rows(beside: Beside, _log: Log) -> Iterator[Finding]:
    """The end of a reply that is not learnt although the reply is, and rows with no label."""
    rows = [(line, found) for line in beside.words if len(found := tokens(line)) >= FEWEST]
    if not rows:
        return
    bare = [line for line, row in rows if all(label == IGNORED for _, label, _ in row)]
    if len(bare) == len(rows):
        said = f"{bare[0].where}: every label is {IGNORED}, and so in all that is shown of the rows"
        yield Finding("labels_masked", SHOWS, bare[0], (said,))
        return
    ends = [(line, end) for line, row in rows if (end := _end_not_learnt(row))]
    if ends and len(ends) == len(rows) - len(bare):
        line, (text, number) = ends[0]
        said = f"{line.where}: {text}({IGNORED}, {number}) right behind the last learnt token"
        counted = f"in {len(ends)} of the {len(rows)} rows that are shown"
        key = "pad_is_eos" if _is_padding(ends[0][1], dict(rows)[line]) else "end_masked"
        advice = NAME_IT.format(end=text) if key == "end_masked" else ""
        yield Finding(key, SHOWS, line, (f"{said}, {counted}",), advice=advice)


def rows_without_label(beside: Beside, log: Log) -> Iterator[Finding]:
    """How many rows have no label at all, as somebody has counted, and what has cut them."""
    lines = beside.words
    for line, below in pairwise(lines):
        answer = _NUMBER.match(below.text) if _COUNTS.search(line.text) else None
        bare = int(plain_number(answer[1])) if answer else 0
        rows = beside.matching(_ROWS) if bare else None
        number = int(plain_number(_ROWS.search(rows[1])[1])) if rows else 0
        if not rows or not MANY * number < bare <= number:
            continue
        proof = [f"{below.where} answers {bare} to {line.text.strip()[:MAX_QUOTE]}"]
        proof.append(f"{rows[0].where} says: {rows[1]}")
        why = WITHOUT_LABEL.format(bare, number)
        longest, limit = _longest(lines), beside.printed("max_length")
        if longest is None or limit is None or not 0 < longest[1] < (limit.number or 0):
            yield Finding("labels_masked", SHOWS, below, tuple(proof), why=why, advice=KEEP_REPLY)
            return
        at, most = longest
        proof += [f"{at.where}: no row is longer than {most}, and {limit.said}"]
        why += OF_ANOTHER_LIMIT.format(most, limit.written, limit.value)
        is_of_model = beside.matching(_OF_UNSLOTH) and not beside.matching(_SEQ_LENGTH)
        why += OF_UNSLOTH if is_of_model else ""
        advice = SET_IT.format(limit.value) if is_of_model else KEEP_REPLY
        yield Finding("labels_masked", SHOWS, below, tuple(proof), why=why, advice=advice)
        return


def _longest(lines: list[Line]) -> tuple[Line, int] | None:
    """The length of the longest prepared row, as somebody has asked for it."""
    for line, below in pairwise(lines):
        if _ASKS_LENGTH.search(line.text) and (answer := _NUMBER.match(below.text)):
            return below, int(plain_number(answer[1]))
    return None


def tokens(line: Line) -> list[tuple[str, str, str]]:
    """Text, label and id of each token that a line shows.

    >>> tokens(Line("line 1", "Hi(15359, 15359) </s>(-100, 2)"))
    [('Hi', '15359', '15359'), ('</s>', '-100', '2')]
    """
    return _TOKEN.findall(line.text)


def _end_not_learnt(row: list[tuple[str, str, str]]) -> tuple[str, str] | None:
    """The token of an end that follows the last learnt token, and is not learnt."""
    last = max((n for n, (_, label, _) in enumerate(row) if label != IGNORED), default=len(row))
    if last + 1 >= len(row) or _ends(row[last][0]):
        return None
    text, _, number = row[last + 1]
    return (text, number) if _ends(text) else None


def _ends(text: str) -> bool:
    """Whether a token is one of a template that may end a turn.

    >>> [_ends(text) for text in ("</s>", "<|eot_id|>", "<turn|>", "<|turn>", "<pad>", "day")]
    [True, True, True, False, False, False]
    """
    return bool(_IS_END.fullmatch(text)) and not _OPENS.fullmatch(text)


def _is_padding(end: tuple[str, str], row: list[tuple[str, str, str]]) -> bool:
    """Whether the row is filled up with its end."""
    return (row[-1][0], row[-1][2]) == end == (row[-2][0], row[-2][2])
