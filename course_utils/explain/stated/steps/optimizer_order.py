"""An optimizer that is made before the weights it was to train are replaced by others."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, trend
from course_utils.explain.paste.usual_words import ASKS_LIKENESS

_MADE = re.compile(
    r"^(?:self\.)?(?P<name>opt\w*|optimi[sz]er\w*|optim)\s*=\s*(?!None|torch\.load|acc\w*\.prepare)"
    r"(?P<by>[\w.]+)\("
)
_BY = re.compile(r"adam|sgd|adafactor|lion|muon|sophia|opt", re.IGNORECASE)
_BEGINS = re.compile(r"^(?:async )?(?:def|class)\b|^return\b")
_OWN = r"^(?:self\.)?(?!ref|teacher|old|base|draft|judge|rm|reward)"  # what the optimizer trains
_REPLACES = (  # what puts new weights into a model, and which
    (
        rf"{_OWN}\w*\.resize_token_embeddings\(",
        "the resized embedding (and the head that is tied to it)",
    ),
    (
        rf"{_OWN}\w+\s*=\s*\w*\.?get_peft_model\(|{_OWN}\w*\.add_adapter\(",
        "the weights of the adapter",
    ),
    (rf"{_OWN}\w*\.set_(?:in|out)put_embeddings\(", "the new embedding or head"),
    (
        r"^(?:self\.)?model\.(?:\w+\.)*(?:wte|embed_tokens|embeddings?|tok_embeddings|word_embed\w*)"
        r"\s*=(?!=)",
        "the new embedding (and the head that is tied to it)",
    ),
    (
        r"^(?:self\.)?model\.(?:\w+\.)*(?:lm_head|head|score|classifier|fc)\s*=\s*(?:torch\.)?nn\.",
        "the new head",
    ),
    (r"^model\s*=\s*(?:copy\.)?deepcopy\(", "the weights of the copy"),
)
_COMPILED = tuple((re.compile(pattern), what) for pattern, what in _REPLACES)
_ADDED_LATER = re.compile(r"\.add_param_group\(|\.param_groups\.append\(")
_AS_ONE = re.compile(r"(?:tensor\()?\b(?P<value>1\.0+|0\.99\d*)\b")
_SIZES = re.compile(r"\bvocab\w*\W+(?P<old>\d{4,6})\s*(?:->|to|=>)\s*(?P<new>\d{4,6})", re.I)
_CLEARED_BY_IT = re.compile(r"^(?:self\.)?opt\w*\.zero_grad\(")
GROWS, SURE, SHOWN = 5, 8.0, 9.2
BEFORE = (
    "the optimizer is made before {what} stood in the model: it holds the tensors that were there "
    "before, so that these, which the run computes with, are never stepped"
)
LIKE_NEW = " The rows of new tokens stay as they were drawn, nearly equal"
GATHERS = (
    ". Their gradient is not cleared either where the optimizer clears (it does not know them): it "
    "gathers from step to step in the norm, and clipping by that norm takes from all other "
    "weights"
)
AFTERWARDS = (
    "first all that changes the model (resize, adapter, head, copy), then the optimizer; see that "
    "each weight with requires_grad is in one of its groups, and clear with model.zero_grad()"
)


def made_before(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code in which the optimizer stands above what replaces weights of the model."""
    lines = beside.words
    found = _order(lines)
    if found is None or beside.matching(_ADDED_LATER):
        return
    made, later, what = found
    alike, grown = _alike(lines, later), _grown(log)
    proof = [line.says for line in (made, later)]
    proof += [*_sizes(lines), *alike, *grown]
    is_table = "embedding" in what
    why = BEFORE.format(what=what) + ("." + LIKE_NEW if alike and is_table else "")
    why += GATHERS if grown and beside.matching(_CLEARED_BY_IT) else ""
    weight = SHOWN if alike or grown else SURE
    yield Finding("optimizer_holds_others", weight, made, tuple(proof), why=why, advice=AFTERWARDS)


def _order(lines: list[Line]) -> tuple[Line, Line, str] | None:
    """The optimizer, what stands behind it, and which weights; None if it is made again."""
    code = [line for line in lines if not line.text.lstrip().startswith(("#", "//"))]
    made = [n for n, line in enumerate(code) if _is_made(line)]
    if not made:
        return None
    last = made[-1]
    for line in code[last + 1 :]:
        if _BEGINS.match(line.text):
            return None
        for pattern, what in _COMPILED:
            if pattern.search(line.text):
                return code[last], line, what
    return None


def _is_made(line: Line) -> bool:
    found = _MADE.match(line.text)
    return bool(found and _BY.search(found["by"].rpartition(".")[2]))


def _sizes(lines: list[Line]) -> list[str]:
    """How many rows the table had and has."""
    for line in lines:
        if (found := _SIZES.search(line.text)) and found["old"] != found["new"]:
            return [f"{line.where}: the table goes from {found['old']} to {found['new']} rows"]
    return []


def _alike(lines: list[Line], behind: Line) -> list[str]:
    """A likeness of two new rows near 1, below the code."""
    for number, line in enumerate(lines):
        if place(line) < place(behind) or not ASKS_LIKENESS.search(line.text):
            continue
        for below in lines[number + 1 : number + 2]:
            if found := _AS_ONE.match(below.text.strip()):
                return [f"{below.where}: two of the new rows have a cosine of {found['value']}"]
    return []


def _grown(log: Log) -> list[str]:
    """A norm that grows several times while the run goes on."""
    levels = trend(log.values("grad_norm"))
    if levels is None or levels[2] < GROWS * levels[0]:
        return []
    name = log.series("grad_norm")[0][0].names["grad_norm"]
    return [f"{name} grows: {listed(levels)} by thirds of the log"]
