"""Rows of a batch that a log shows token by token, each as `text(label, id)`: what they teach."""

import re
from collections.abc import Iterator

from course_utils.explain.beside import Beside
from course_utils.explain.entries import Line
from course_utils.explain.finding import Finding

IGNORED = "-100"
SHOWS = 9.5  # the row itself
FEWEST = 4  # tokens of a row
_TOKEN = re.compile(r"(\S*?)\((-?\d+), ?(\d+)\)")
_IS_END = re.compile(r"(?!.*(?:start|begin|bos|pad|unk))</?\|?[\w-]+\|?>", re.IGNORECASE)
_OPENS = re.compile(r"<\|[\w-]+>|<s>")  # of a pair as <|turn> and <turn|>, the one that opens
NAME_IT = (
    "name {end} as the token that ends a turn, so that what marks the reply includes it (axolotl: "
    "eot_tokens, train_on_eot; TRL: assistant_only_loss with a template that marks it); make the "
    "prepared rows anew, and see that its label is its id behind each reply"
)


def shown_rows(beside: Beside) -> Iterator[Finding]:
    """The end of a reply that is not learnt although the reply is, and rows with no label."""
    rows = [(line, found) for _, line in beside.lines if len(found := tokens(line)) >= FEWEST]
    if not rows:
        return
    bare = [line for line, row in rows if all(label == IGNORED for _, label, _ in row)]
    if len(bare) == len(rows):
        said = f"{bare[0].where}: every label is {IGNORED}, in all {len(rows)} rows that are shown"
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
