"""Labels, which are the next tokens of a row, made from the part of it that a process holds."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_PART = re.compile(
    r"^\W*(?P<part>\w+)\s*=\s*(?:\w+\.)*\w*(?:split|chunk|shard|zigzag|scatter|slice|local|narrow)"
    r"\w*\((?!['\"])(?=.*(?:ids|tokens|labels|input|seq)).*"
)
_HANDED_ON = re.compile(r"\b(?:i?send|i?recv|P2POp|halo|boundary|next_first\w*)\b", re.IGNORECASE)
_ROLLED = r"\btorch\.roll\(\s*{0}\b.*|\b{0}\[(?:\.\.\.,\s*|:,\s*)?1:\]"
_PARALLEL = re.compile(
    r"\b(?:context_parallel_size|cp_size|ulysses_sequence_parallel_size|sequence_parallel_size|"
    r"context-parallel-size|CP)['\"]?\s*[=: ]\s*(?P<n>\d+)"
)
_AT = re.compile(r"(?<![\d.])(\d+) \(-?\d+\.\d+")
_ROW = re.compile(r"^\W*\d+\s+(?P<length>\d{2,})\s+\d+ \(-?\d")
FEW = 3  # rows
ROLLED = (
    "labels are made after the row was split over {n} processes: each rolls its own part, so that "
    "the last token of a piece gets the first token of the next piece on the same process, or of "
    "the part's beginning, for its label, and not the next token of the text. A few tokens of each "
    "row are scored for a word that never stood there, and their gradient is large"
)
ROLL_FIRST = (
    "roll the labels of the whole row first, and split them in the same way as the ids; then no "
    "token may differ between sampler and trainer at the bounds of the pieces, and a run without "
    "the split has the same gradient norm"
)


def rolled_after_the_split(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that splits the ids and then rolls the part, beside tokens that are off at bounds."""
    sizes = [(line, int(m["n"])) for line in beside.words for m in _PARALLEL.finditer(line.text)]
    size = max((n for _, n in sizes[:1]), default=0)
    code = _code(beside)
    if code is None or size < 2:
        return
    made, rolled = code
    bounds = list(_at_bounds(beside, size))
    if not bounds and beside.matching(_HANDED_ON):
        return  # the first label of the next piece may be sent
    proof = (
        made.says,
        rolled.says,
        f"{sizes[0][0].where} says: {_PARALLEL.search(sizes[0][0].text)[0]}",
        *bounds,
    )
    why, weight = ROLLED.format(n=size), 9.0 if bounds else 7.2
    yield Finding("labels_shifted", weight, rolled, proof, why=why, advice=ROLL_FIRST)


def _code(beside: Beside) -> tuple[Line, Line] | None:
    """The line that makes a part of the ids, and a later one that rolls it."""
    lines = beside.words
    for number, line in enumerate(lines):
        made = _PART.match(line.text)
        if made is None or "roll(" in line.text:
            continue
        rolls = re.compile(_ROLLED.format(re.escape(made["part"])))
        later = next((one for one in lines[number + 1 :] if rolls.search(one.text)), None)
        if later is not None:
            return line, later
    return None


def _at_bounds(beside: Beside, size: int) -> Iterator[str]:
    """Rows of tokens that are far off, each at a bound of the pieces."""
    rows = [(line, found) for line in beside.words if (found := _ROW.match(line.text))]
    told = [
        (line, int(one["length"]), list(map(int, _AT.findall(line.text)))) for line, one in rows
    ]
    if len(told) < FEW:
        return
    at_bound = [all(at * 2 * size % length == 0 for at in places) for _, length, places in told]
    if all(at_bound):
        line, length, places = told[0]
        shown = " and ".join(f"{at} = {at * 2 * size // length}/{2 * size} of it" for at in places)
        yield (
            f"{line.where} on, tokens that are far off: in a row of {length} at {shown}; so in all "
            f"{len(told)} rows, at bounds of the {2 * size} pieces alone"
        )
