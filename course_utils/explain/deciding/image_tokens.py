"""A row whose image tokens are fewer than its images give: which limit has cut them."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_COUNTS = re.compile(r"tokens:? (?P<tokens>\d+),? .*?features:? (?P<features>\d+)", re.IGNORECASE)
_ROWS = re.compile(r"input_ids\W+(?:shape\W+)?torch\.Size\(\[(?P<rows>\d+), (?P<length>\d+)\]\)")
MOST_ROWS = 256
CUT = (
    "rows are cut inside their images: {name} {limit} leaves {tokens} image tokens ({rows} x "
    "{limit}) where the images give {features}"
)
LONGER = (
    "a {name} above what an image and the text need (more than {each:.0f} tokens a row here), or "
    "none; or fewer tokens an image (a smaller resolution, max_pixels); no cut inside an image"
)


def cut(one: Finding, beside: Beside, log: Log) -> Finding:
    """The limit of the length, if the tokens that are left are as many rows of that length."""
    counts = _COUNTS.search(one.at.text)
    limit = beside.number("max_length")
    if not counts or limit is None or not limit.number:
        return one
    tokens, features, length = (int(n) for n in (*counts.groups(), limit.number))
    rows, rest = divmod(tokens, length)
    if rest or not tokens < features or not 0 < rows <= MOST_ROWS:
        return one
    proof = [*one.for_it, f"{counts[0]}: {rows} x {length} = {tokens}", limit.said]
    if shown := _shape(beside, length):
        proof.append(shown)
    why = CUT.format(name=limit.written, limit=length, tokens=tokens, rows=rows, features=features)
    advice = LONGER.format(name=limit.written, each=features / rows)
    return replace(one, for_it=tuple(proof), why=why, advice=advice)


def _shape(beside: Beside, length: int) -> str:
    """A batch that is printed with that length."""
    found: list[tuple[Line, re.Match]] = [
        (line, m) for line in beside.words for m in _ROWS.finditer(line.text)
    ]
    fits = [(line, m) for line, m in found if int(m["length"]) == length]
    return f"{fits[-1][0].where} says: {fits[-1][1][0]}" if fits else ""
