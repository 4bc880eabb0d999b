"""Replies that are cut out of what was generated at each prompt's own length, behind padding."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_OWN_LENGTHS = re.compile(
    r"^(?P<name>\w+)\s*=\s*(?:"
    r"[\w.]*\(?\w*(?:\[['\"])?\.?attention_mask\b['\"]?\]?\s*\)?(?:\.\w+\(\))*\.sum\(|"
    r"\(?\w+(?:\[['\"]input_ids['\"]\]|\.input_ids)?\s*(?:!=|\.ne\()\s*[\w.]*pad\w*\)?\.sum\(|"
    r"\[\s*len\(\s*(?:self\.)?tok\w*(?:\.encode|\.tokenize)?\((?!.*padding).*\bfor\b|"
    r"\[\s*int\(.*attention_mask.*\bfor\b|"
    r"\w*mask\w*\.sum\((?:-1|1|dim|axis))"
)
_GENERATES = re.compile(r"\b(?P<name>\w+)\s*=\s*[\w.]*\bgenerate\(")
_SLICE = re.compile(
    r"\b(?P<of>\w+)(?:\.sequences)?(?:\[(?P<row>\w+)\])?\[\s*(?P<from>\w+)(?:\[\w+\])?\s*:\s*\]"
)
_FOR = re.compile(
    r"\bfor\s+(?P<names>[\w\s,()*]+?)\s+in\s+(?P<counted>enumerate\()?(?:zip\((?P<many>[^)]*)\)?|"
    r"(?P<one>\w+))"
)
_LEFT = re.compile(r"padding_side\W{1,6}(?:is\s+)?['\"]?left\b|\bleft[- ]?padd?\w*", re.IGNORECASE)
_WHOLE_WIDTH = re.compile(
    r"\[:, ?[\w.\[\]'\"]+\.(?:shape\[(?:1|-1)\]|size\((?:1|-1)\)):\]|"
    r"\[\s*[\w.\[\]'\"]*(?:input_ids|enc|inputs)\S*\.(?:shape\[(?:1|-1)\]|size\((?:1|-1)\))\s*:"
)
_SIZED = re.compile(r"^\W*(?P<size>\d{1,4})\s*\|\s*(?P<hits>0?\.\d+|\d\d\.\d+)\s*%?\s*\|")
SURE, FALLS = 9.0, 0.9  # the code itself; of the value in the smallest batch
WITH_PROMPT = (
    "the reply is cut out at the wrong place: under padding on the left what is generated begins "
    "at the padded width of the batch, the same for all rows, and the code cuts each row at its "
    "own length without padding, so that a padded row is read with the last tokens of its prompt "
    "in front of the reply. The shorter the prompt and the larger the batch, the more of it"
)


def cut_at_own_length(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that slices generated rows at the number of their prompt's tokens, padded left."""
    left = beside.matching(_LEFT)
    if left is None or beside.matching(_WHOLE_WIDTH):
        return
    lines = beside.words
    lengths = {found["name"]: line for line in lines if (found := _OWN_LENGTHS.match(line.text))}
    generated = {found["name"] for line in lines if (found := _GENERATES.search(line.text))}
    cut = _cut(lines, set(lengths), generated)
    if cut is None:
        return
    line, counted = cut
    proof = [one.says for one in (lengths[counted], line)]
    proof += [f"{left[0].where} says: {left[1]}", *_by_size(lines)]
    yield Finding("reply_cut_within_prompt", SURE, line, tuple(proof), why=WITH_PROMPT)


def _cut(lines: list[Line], lengths: set[str], generated: set[str]) -> tuple[Line, str] | None:
    """The line that slices a generated row at such a length, and the name of the lengths."""
    means: dict[str, str] = {}
    for line in lines:
        for found in _FOR.finditer(line.text):
            means |= _names(found)
        for found in _SLICE.finditer(line.text):
            begin = means.get(found["from"], found["from"])
            if means.get(found["of"], found["of"]) in generated and begin in lengths:
                return line, begin
    return None


def _names(found: re.Match) -> dict[str, str]:
    """What each name of a loop stands for: `for a, b in zip(x, y)` gives {a: x, b: y}."""
    names = re.findall(r"\w+", found["names"])
    names = names[1:] if found["counted"] else names
    of = re.findall(r"\w+", found["many"]) if found["many"] else [found["one"]]
    return dict(zip(names, of, strict=False)) if len(names) == len(of) else {}


def _by_size(lines: list[Line]) -> list[str]:
    """A table in which a score falls with the size of the batch."""
    rows = [(line, found) for line in lines if (found := _SIZED.match(line.text))]
    hits = [float(found["hits"]) for _, found in rows]
    sizes = [int(found["size"]) for _, found in rows]
    if len(rows) < 2 or sizes != sorted(set(sizes)) or hits[-1] > FALLS * hits[0]:
        return []
    return [
        f"{rows[0][0].where} to {rows[-1][0].where}: {hits[0]:g} in batches of {sizes[0]}, "
        f"{hits[-1]:g} in batches of {sizes[-1]}"
    ]
