"""A mask of the loss that counts every token of an episode, those of tools and servers too."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.columns import Row, rows_of
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log

_MASKED = re.compile(
    r"^(?:\w*(?:action|response|loss|completion|assistant|reply|train)\w*mask\w*(?:sum|tok\w*|count|"
    r"len)?|(?:n_?|num_?)?(?:loss|learnt|trained|train|unmasked|in_loss|scored)_?tok\w*|in_loss)$"
)
_FROM_TOOLS = re.compile(
    r"^(?:\w*_)?(?:(?:from_)?(?:server|env\w*|tools?|obs\w*|retriev\w*|search|information|docs?|"
    r"sandbox|interpreter|feedback))(?:_(?:tok\w*|len\w*|written|mean|results?(?:_tok\w*)?))?$"
)
_WRITTEN = re.compile(
    r"^(?:\w*_)?(?:policy|model|sampled|generated|assistant|written|actor|llm|gen)"
    r"(?:_(?:tok\w*|len\w*|written|mean))?$"
)
_NOT_MASKED = re.compile(
    r"\b(?:mask_(?:obs\w*|tool\w*|env\w*|info\w*|retriev\w*|results?\w*|server\w*)|state_masking|"
    r"(?:obs\w*|tool\w*|info\w*|env\w*)_mask(?:ing)?)['\"]?\s*[:= ]\s*['\"]?(?:false|no|off|0)\b|"
    r"\b(?:train|loss|learn)_(?:on|of)_(?:obs\w*|tool\w*|env\w*|results?|info\w*)['\"]?\s*[:= ]\s*"
    r"['\"]?(?:true|yes|on|1)\b",
    re.IGNORECASE,
)
_WRITES_ITSELF = re.compile(
    r"\b(?:sampled|written|generated|wrote|invent\w*|hallucinat\w*|made up|makes up|writes)\b"
    r".{0,60}\b(?:policy|model|itself|in one go|results?|observations?|tool|documents?)\b",
    re.IGNORECASE,
)
_OF_TOOLS = re.compile(
    r"\b(?:search\w*|retriev\w*|tool\w*|<?information>?|observation\w*|sandbox|interpreter|"
    r"env(?:ironment)?[._ ]step|tool_response|multi[-_ ]?turn)\b",
    re.IGNORECASE,
)
FEW, NEAR = 3, 0.02  # rows; of a number of tokens
_OVER_TIME = re.compile(r"per_s|^train|_total$|seen")
PER_TIME = ("s", "sec", "second", "gpu")
FAR, MOSTLY = 1.3, 0.8  # times what is written; of the rows
IN_MASK = (
    "the tokens that a tool or server wrote are in the loss: the mask counts {mask:g} tokens of an "
    "episode, of which {tools:g} are not the policy's. Their gradient teaches the policy to write "
    "such results by itself, in place of calling the tool, and what it never sampled can make the "
    "gradient run off"
)
SWITCHED_ON = (
    "the tokens that a tool or server wrote are in the loss, since they are not masked here: their "
    "gradient teaches the policy to write such results by itself, in place of calling the tool"
)
LEAVE_OUT = (
    "a mask of 0 for what a tool or server wrote, in the loss, the advantages and the KL alike; "
    "let generation stop where a call ends; begin again from weights before that. The mask must "
    "then have as many ones as the policy has written tokens"
)


def tools_in_the_mask(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows in which the mask has as many ones as policy and tools have tokens together, or the
    setting that asks for that."""
    rows = list(rows_of(beside, log))
    found = [one for row in rows if (one := _parts(row))]
    if len(found) < FEW:
        yield from _more_than_written(rows, beside)
    setting = beside.matching(_NOT_MASKED)
    told = beside.matching(_WRITES_ITSELF)
    if len(found) < FEW and not (setting and told):
        return
    shown = [one[0].says for one in (setting, told) if one]
    if len(found) < FEW:
        of = ("tool_results_learnt", 7.4, setting[0], tuple(shown))
        yield Finding(*of, why=SWITCHED_ON, advice=LEAVE_OUT)
        return
    at, mask, written, tools = found[0]
    ends = f"; {found[-1][3]:g} of them in the last row" if found[-1][3] < tools / 2 else ""
    proof = (
        f"{at.where}: {mask:g} tokens in the mask = {written:g} of the policy + {tools:g} of "
        f"tools, and likewise in all {len(found)} rows{ends}",
        *shown,
    )
    why = IN_MASK.format(mask=mask, tools=tools)
    yield Finding("tool_results_learnt", 9.2, at, proof, why=why, advice=LEAVE_OUT)


def _more_than_written(rows: list[Row], beside: Beside) -> Iterator[Finding]:
    """Rows in which far more tokens are in the loss than the policy has written, of an agent."""
    both = [(row, *pair) for row in rows if (pair := _mask_and_written(row))]
    tools, told = beside.matching(_OF_TOOLS), beside.matching(_WRITES_ITSELF)
    many = [one for one in both if one[1] > FAR * one[2]]
    if not tools or len(many) < FEW or len(many) < MOSTLY * len(both):
        return
    row, mask, written = many[0]
    proof = (
        f"{row.at.where}: {mask:g} tokens in the loss, and {written:g} of the policy; likewise in "
        f"{len(many)} of {len(both)} rows",
        f"{tools[0].where} speaks of {tools[1]}",
        *([told[0].says] if told else []),
    )
    why = IN_MASK.format(mask=mask, tools=mask - written)
    yield Finding("tool_results_learnt", 9.0, row.at, proof, why=why, advice=LEAVE_OUT)


def _mask_and_written(row: Row) -> tuple[float, float] | None:
    """How many tokens are in the loss and how many the policy wrote, both of the same unit."""
    found: dict[str, dict[str, float]] = {}
    for name, value in row.numbers.items():
        plain, _, unit = name.partition("/")
        if unit in PER_TIME or _OVER_TIME.search(plain):
            continue
        for kind, pattern in (("mask", _MASKED), ("written", _WRITTEN)):
            if pattern.search(plain) and value > 0:
                found.setdefault(unit, {}).setdefault(kind, value)
    both = (one for one in found.values() if len(one) == 2)
    return next(((one["mask"], one["written"]) for one in both), None)


def _parts(row: Row) -> tuple[Line | Entry, float, float, float] | None:
    """The sum of the mask, what the policy and what tools have written, if the mask has both."""
    mask, tools, written = (row.first(one) for one in (_MASKED, _FROM_TOOLS, _WRITTEN))
    if not (mask and tools and written) or not tools[1] > NEAR * mask[1]:
        return None
    both = written[1] + tools[1]
    return (row.at, mask[1], written[1], tools[1]) if abs(mask[1] - both) <= NEAR * both else None
