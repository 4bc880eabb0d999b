"""Images of text that are made so small that nobody could read them."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose

_PIXELS = re.compile(
    r"\b(?P<name>(?:image_|video_)?max_pixels|longest_edge)['\"]?\s*[:=]\s*"
    r"(?P<n>\d[\d_]*(?:\s*\*\s*\d+)*)"
)
_EDGE = re.compile(
    r"\b(?P<name>image_(?:size|resolution)|img_size|image_max_size|max_(?:image_)?(?:edge|side))"
    r"['\"]?\s*[:=]\s*\(?(?P<n>\d{2,4})\b(?! ?\*)"
)
_SIZE = re.compile(r"(?<![\d.])(\d{3,5})(?:, | ?[x\u00d7] ?)(\d{3,5})(?![\d.])")
_OF_IMAGES = re.compile(
    r"\bsizes?\b|\bPIL\b|\bim(?:age|g)?s?\b|\bscans?\b|\bpages?\b|\bresolution\b|\bpx\b|\bpixels\b",
    re.IGNORECASE,
)
_GRID = re.compile(r"\[\s*1,\s*(\d+),\s*(\d+)\s*\]")
_DPI = re.compile(r"\bA4\b.*?(\d{2,3})(?: ?- ?\d{2,3})? ?dpi|(\d{2,3}) ?dpi.*?\bA4\b", re.I)
_READS = re.compile(
    r"\b(?:ocr|invoices?|receipts?|scans?|scanned|handwrit\w+|screenshots?|doc(?:ument)?[ _]?vqa|"
    r"text ?vqa|charts?|pdfs?|small print|licen[cs]e plates?|bank statements?|transcrib\w+)\b",
    re.IGNORECASE,
)
MANY_PIXELS, TIMES, PATCH, MERGED, IN_FORCE = 200_000, 8, 14, 4, 1.2
A4 = (8.27, 11.69)  # inches
TOO_SMALL = (
    "the images are made so small that their text cannot be read: {name} {limit} is about "
    "{side:.0f} x {side:.0f} pixels, and a page of {w} x {h} has {times:.0f} times as many. What "
    "is learnt is the layout, what is large and what is usual, and the rest is guessed"
)
LARGER = (
    "a limit of one to a few million pixels for pages of text ({name}), in training and wherever "
    "the model is used, with a length of rows that holds the tokens of such an image, and a "
    "smaller batch if memory asks for it; which parts are frozen is another question"
)


def text_too_small(beside: Beside, log: Log) -> Iterator[Finding]:
    """A small limit of pixels, images many times as large, and a task of reading."""
    limit, reads = _limit(beside), beside.matching(_READS)
    if limit is None or reads is None:
        return
    at, name, pixels = limit
    large = _largest(beside)
    if large is None or pixels > MANY_PIXELS or math.prod(large[1]) < TIMES * pixels:
        return
    line, (w, h) = large
    grids = [(one, m) for one in beside.words for m in _GRID.finditer(one.text)]
    seen = [(one, int(m[1]), int(m[2])) for one, m in grids]
    if any(rows * columns * PATCH**2 > IN_FORCE * pixels for _, rows, columns in seen):
        return  # the limit is not in force
    proof = [
        f"{at.where} says: {at.text.strip()[:100]}",
        f"{line.where} has an image of {w} x {h} pixels",
        f"{reads[0].where} says: {reads[1]}",
    ]
    if seen:
        grid, rows, columns = max(seen, key=lambda one: one[1] * one[2])
        proof.insert(
            2,
            f"{grid.where} on: an image is {rows} x {columns} patches at most, which at {PATCH} "
            f"pixels a patch is {rows * PATCH} x {columns * PATCH}, and gives "
            f"{rows * columns // MERGED} tokens",
        )
    times, side = math.prod((w, h)) / pixels, math.sqrt(pixels)
    why = TOO_SMALL.format(name=name, limit=pixels, side=side, w=w, h=h, times=times)
    weight = 8.8 if seen else 7.4
    advice = LARGER.format(name=name)
    yield Finding("images_too_small", weight, at, tuple(proof), why=why, advice=advice)


def _limit(beside: Beside) -> tuple[Line, str, int] | None:
    """The last limit of an image's pixels that is set: of the whole, or of an edge."""
    for line in reversed(beside.words):
        if is_prose(line.text):
            continue
        if found := _PIXELS.search(line.text):
            factors = (int(one) for one in re.findall(r"\d+", found["n"].replace("_", "")))
            pixels = math.prod(factors)
            is_edge = found["name"] == "longest_edge" and pixels < 10_000
            return line, found["name"], pixels**2 if is_edge else pixels
        if found := _EDGE.search(line.text):
            return line, found["name"], int(found["n"]) ** 2
    return None


def _largest(beside: Beside) -> tuple[Line, tuple[int, int]] | None:
    """The largest image of which a size is given, in a line on images or just below one."""
    found: list[tuple[Line, tuple[int, int]]] = []
    above = False
    for line in beside.words:
        is_of_images = bool(_OF_IMAGES.search(line.text)) and not _PIXELS.search(line.text)
        if is_of_images or above:
            found += [(line, (int(m[1]), int(m[2]))) for m in _SIZE.finditer(line.text)]
        if dpi := _DPI.search(line.text):
            each = int(dpi[1] or dpi[2])
            found.append((line, (round(A4[0] * each), round(A4[1] * each))))
        above = is_of_images
    return max(found, key=lambda one: math.prod(one[1]), default=None)
