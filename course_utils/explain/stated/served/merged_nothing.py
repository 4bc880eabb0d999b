"""A merge after which the weights are those of the base."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_ASKS = re.compile(
    r"^(?=.*\bmerged?\w*\b)(?=.*\b(?:base\w*|orig\w*)\b).*(?:\.abs\(\)|\.norm\(|torch\.(?:equal|allclose)\(|"
    r"\|[^|]*-[^|]*\||\bmax\w* ?(?:abs )?(?:diff|delta|change))",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"\b(?:adapter|peft\w*|lora\w*|live|memory|logits?|logp\w*|loss)\b|\bembed|\bnorm\.weight|\blm_head|layernorm",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"^\W*(?:Out\[\d+\]:\s*)?(?:(?:tensor\()?0(?:\.0*)?(?:e[+-]?0+)?(?![\d.])|True\b)[^\d]*$"
)
_ON_IT = re.compile(r"[:=>]\s*(?:(?:tensor\()?0\.0*(?:e[+-]?0+)?)\)?\s*$")
SURE = 8.8
NOTHING = (
    "the merge has put nothing into the weights: those of the merged model are those of the base, "
    "to the last digit. The adapter that was merged was empty, was not the active one, or what was "
    "saved is another model than the one that was merged"
)
KEEP_IT = (
    "merged = model.merge_and_unload(), save that very object, with lora_B seen not to be 0 before "
    "it; then compare one weight of a target module with the base (it must differ) and the logits "
    "with those of base and adapter"
)


def merged_nothing(beside: Beside, log: Log) -> Iterator[Finding]:
    """A difference of 0 between weights of a merged model and of its base."""
    lines = beside.words
    for line, below in pairwise([*lines, Line("", "")]):
        if not _ASKS.search(line.text) or _OF_OTHERS.search(line.text):
            continue
        answer = line if _ON_IT.search(line.text) else below
        if answer is below and not _NOTHING.match(below.text):
            continue
        proof = tuple(x.says for x in dict.fromkeys((line, answer)))
        yield Finding("merged_not_equal", SURE, line, proof, why=NOTHING, advice=KEEP_IT)
        return
