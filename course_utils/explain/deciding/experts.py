"""Processes that gather different weights: ZeRO-3 with a mixture of experts."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.messages.collectives import OTHER_SIZE
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_STAGE_3 = re.compile(
    r"zero[-_ ]?(?:stage)?[-_ ]?['\"]?\s*[=: ]?\s*3\b|ds_z3\w*|\bstage['\"]?\s*[=:]\s*3\b|"
    r"\bstage3_\w+",
    re.IGNORECASE,
)
_EXPERTS = re.compile(
    r"\b\w*mixture[- ]of[- ]experts\b|\bmoe\b|\w+moe\b|[\w./-]*\b\d+B-A\d+(?:\.\d+)?B\b[\w./-]*|"
    r"[\w./-]*mixtral[\w./-]*|[\w./-]*deepseek-(?:v[23]|moe)[\w./-]*|\bnum_(?:local_)?experts\b|"
    r"[\w./-]*gpt-oss[\w./-]*|[\w./-]*\d+x\d+B\b[\w./-]*",
    re.IGNORECASE,
)
_GATHERS = re.compile(r"all_?gather", re.IGNORECASE)
_DENSE = re.compile(
    r"[^.;\n]{0,60}\bdense\b[^.;\n]{0,70}\b(?:fine|finish\w*|works?|normal\w*|no problem|ok)\b"
    r"[^.;\n]{0,20}",
    re.IGNORECASE,
)
OTHER_EXPERTS = (
    "the processes gather different weights: under ZeRO-3 a weight is gathered where it is used, "
    "and in a mixture of experts each process uses the experts that its own tokens are sent to; "
    "from the first expert on that one of them leaves out, their gathers no longer match"
)
LEAF = (
    "make the block of experts one unit for ZeRO-3: deepspeed.utils.set_z3_leaf_modules(model, "
    "[the class of the sparse block, such as Qwen3MoeSparseMoeBlock]) before training; or a "
    "version of transformers whose block runs every expert in each pass; or ZeRO-2"
)


def apart(one: Finding, beside: Beside, log: Log) -> Finding:
    """Gathers of other sizes under one number, by ZeRO-3, in a model with experts."""
    if one.why != OTHER_SIZE[0] or not any(_GATHERS.search(said) for said in one.for_it):
        return one
    stage, model = beside.matching(_STAGE_3), beside.matching(_EXPERTS)
    if stage is None or model is None:
        return one
    found = (stage, model, beside.matching(_DENSE))
    rows = tuple(f"{pair[0].where} says: {pair[1].strip()}" for pair in found if pair)
    return replace(one, for_it=(*one.for_it, *rows), why=OTHER_EXPERTS, advice=LEAF)
