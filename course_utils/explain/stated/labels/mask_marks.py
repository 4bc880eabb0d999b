"""What is to begin the loss is a mark of another model's template, and so every token is learnt."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.stated.served.served_template import form_of
from course_utils.explain.stated.served.templates import FAMILIES

_MARK = re.compile(
    r"\b(?P<name>loss_(?:after|from|start)|(?:response|answer|completion|assistant|reply|output)_"
    r"(?:template|part|marker?|tag|prefix|header|key|start|token)|train_after|mask_until)['\"]?\s*"
    r"[=:]\s*[rbf]?['\"](?P<mark>[^'\"]+)['\"]",
    re.IGNORECASE,
)
_ANY_PART = re.compile(r"\b(?:instruction|user|prompt)_(?:part|template)\s*=")
_ASKS_TO_MASK = re.compile(
    r"\b(?:mask_prompt|train_on_completions_only|completion_only_loss|assistant_only_loss|"
    r"train_on_responses_only|mask_inputs|only_completion|roles_to_train)\b['\"]?\s*[=:(]\s*['\"]?"
    r"(?!false|none|0)|\btrain_on_(?:inputs|prompt)['\"]?\s*[=:]\s*['\"]?false",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"\b(?:model(?:_name(?:_or_path)?|_id|_dir)?|base_model)['\"]?\s*[:=]\s*['\"]?"
    r"(?P<name>[\w./-]+)",
    re.IGNORECASE,
)
_OWN = {  # what begins a turn in the template of a family
    "qwen": "<|im_start|>",
    "llama3": "<|start_header_id|>",
    "llama2": "[INST]",
    "mistral": "[INST]",
    "gemma": "<start_of_turn>",
}
_TURN = re.compile(
    r"<\|im_start\|>assistant|<\|start_header_id\|>assistant<\|end_header_id\|>|"
    r"<start_of_turn>model|\[/INST\]|<\|assistant\|>"
)
_OTHER_TEMPLATE = re.compile(
    r"\b(?:chat_)?(?:template|tmpl)['\"]?\s*[:=]\s*['\"]?(?!tokenizer|default|auto|model|none|null)\w",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"(?<![a-z_])(?:tok(?:en)?s?|n_?tok(?:en)?s?|num_tokens|input_tokens|real|total_tokens)['\"]?"
    r"\s*[=: ]\s*(?P<n>\d[\d,]*)(?![.\w])",
    re.IGNORECASE,
)
_LEARNT = re.compile(
    r"(?<![a-z_])(?:l_?tok(?:en)?s?|(?:label|loss|target|trained|supervised|learnt|answer)_?"
    r"tok(?:en)?s?|n_?(?:labels|targets|loss)|num_(?:label|loss)_tokens|in loss|unmasked)['\"]?"
    r"\s*[=: ]\s*(?P<n>\d[\d,]*)(?![.\w])",
    re.IGNORECASE,
)
FEW, MOST = 3, 64  # lines; rows of a batch, each of which has one token without a label
ALL_LEARNT = (
    "the prompt is in the loss, although it is to be masked: of {all:g} tokens {learnt:g} have a "
    "label, all but {gap:g}{mark}. So the loss is mostly that of text which is given, and "
    "is low when that has been memorised"
)
OTHER_MARK = (
    ". The mark that begins the loss, {mark}, does not stand in the template of {model}, whose "
    "turns begin with {own}, and what is not found falls back to everything"
)
MEND = (
    "make the mark that of the rows as they are rendered{own}, let a row without it be an error, "
    "and see that the labels are as many as the answers have tokens; weights of classes or "
    "another rank only after that"
)
IN_NO_ROW = (
    "no token has a label: the mark that begins the loss, {mark}, is of another template than the "
    "rows, where a reply begins with {own}. It is found in none of them, so every label is -100, "
    "and the loss is that of nothing: 0, or 0 / 0, which is nan"
)
OWN_MARK = (
    "make the mark what the rows have before a reply ({own} and what follows it there), or let the "
    "trainer mask by the template itself (assistant_only_loss); let a warning of it be heard, see "
    "that some labels are not -100, and begin anew from the base: weights after a nan are lost"
)


_ALL_MASKED = re.compile(r"All labels in your dataset are -100|no labels? (?:is|are) left", re.I)
_REPLIES = {  # what a reply begins with, by what begins a turn
    "<|im_start|>": "'<|im_start|>user\\n' and '<|im_start|>assistant\\n'",
    "<|start_header_id|>": "'<|start_header_id|>user<|end_header_id|>\\n\\n' and "
    "'<|start_header_id|>assistant<|end_header_id|>\\n\\n'",
    "<start_of_turn>": "'<start_of_turn>user\\n' and '<start_of_turn>model\\n'",
    "[INST]": "'[INST]' and '[/INST]'",
}
IN_ROWS = (
    "no token has a label: the mark that begins the loss, {mark}, stands in none of the rows as "
    "they are rendered{known}, so that every label is -100"
)
OWN_MARKS = (
    "instruction_part and response_part as the template of this model writes them ({own}); print "
    "one rendered row, and count its labels before the training"
)


def all_is_learnt(beside: Beside, log: Log) -> Iterator[Finding]:
    """Counts of tokens and labels that differ by one for each row, where a mask was asked for."""
    lines = beside.words
    counted = _counted([*lines, *log.entries])
    mark, asked = _mark(lines), beside.matching(_ASKS_TO_MASK)
    if counted is None or not (mark or asked):
        return
    at, whole, learnt, number = counted
    other = _of_another_model(beside, lines, mark)
    shown = [mark[0]] if mark else [asked[0]]
    shown += [other[0]] if other else []
    proof = [one.says for one in shown]
    proof.append(
        f"{at.where}: {whole:g} tokens and {learnt:g} with a label; the difference is "
        f"{whole - learnt:g} in all {number} lines that count them"
    )
    named = OTHER_MARK.format(mark=mark[1], model=other[1], own=other[2]) if other else ""
    why = ALL_LEARNT.format(all=whole, learnt=learnt, gap=whole - learnt, mark=named)
    advice = MEND.format(own=f" (behind {other[2]})" if other else "")
    weight = 9.2 if other else 8.0
    yield Finding("prompt_in_loss", weight, at, tuple(proof), why=why, advice=advice)


def mark_in_no_row(beside: Beside, log: Log) -> Iterator[Finding]:
    """A mark of one template, rows that are shown in another, and a loss of 0 or nan."""
    lines, losses = beside.words, log.values("loss")
    mark = _mark(lines)
    begins = next((one for one in _OWN.values() if mark and one in mark[1]), "")
    if not begins or len(losses) < FEW or any(math.isfinite(x) and x for x in losses):
        return
    rows = [(line, m) for line in lines if (m := _TURN.search(line.text)) and line is not mark[0]]
    others = [line for line in lines if not _ANY_PART.search(line.text)]
    if not rows or any(begins in line.text for line in others if line is not mark[0]):
        return
    (line, found), entry = rows[-1], log.series("loss")[0][0]
    names = [n for n in ("loss", "grad_norm", "token_accuracy") if n in entry.numbers]
    proof = (
        mark[0].says,
        f"{line.where} shows how a reply begins in a row: {found[0]}",
        f"{entry.where}: {said(entry, *names)}, and no other loss in {len(losses)} entries",
    )
    why = IN_NO_ROW.format(mark=mark[1], own=found[0])
    advice = OWN_MARK.format(own=found[0])
    yield Finding("labels_masked", 9.4, mark[0], proof, why=why, advice=advice)


def marks_found_nothing(beside: Beside, log: Log) -> Iterator[Finding]:
    """What masks the prompts says that nothing is left, beside the marks that it was given."""
    lines = beside.words
    said_so, mark = beside.matching(_ALL_MASKED), _mark(lines)
    if said_so is None or mark is None:
        return
    of = form_of(mark[1])
    named = {own for line in lines if line is not mark[0] for own in _owns(line.text)} - {of}
    own = named.pop() if len(named) == 1 else ""
    known = f" (in this model it begins with {own})" if own else ""
    why = IN_ROWS.format(mark=mark[1].replace("\\n", "").strip(), known=known)
    advice = OWN_MARKS.format(own=_REPLIES.get(own, "the template's own text before a reply"))
    proof = (said_so[0].says, mark[0].says)
    yield Finding("labels_masked", 10.2, mark[0], proof, why=why, advice=advice)


def _owns(text: str) -> set[str]:
    """What begins a turn in the families of models that a line names."""
    return {own for family, own in _OWN.items() if FAMILIES[family].search(text)}


def _counted(parts: list[Line | Entry]) -> tuple[Line | Entry, float, float, int] | None:
    """Lines with both counts, whose difference is the same few in each."""
    rows = []
    for part in parts:
        whole, learnt = _ALL.search(part.text), _LEARNT.search(part.text)
        if whole and learnt:
            pair = [plain_number(m["n"]) for m in (whole, learnt)]
            rows.append((part, *pair))
    gaps = {whole - learnt for _, whole, learnt in rows}
    if len(rows) < FEW or len(gaps) != 1 or len({whole for _, whole, _ in rows}) < FEW:
        return None
    gap = gaps.pop()
    part, whole, learnt = rows[0]
    if not 0 <= gap <= MOST or gap > 0.05 * whole:
        return None
    return part, whole, learnt, len(rows)


def _mark(lines: list[Line]) -> tuple[Line, str] | None:
    found = ((line, m) for line in lines if (m := _MARK.search(line.text)))
    return next(((line, m["mark"]) for line, m in found), None)


def _of_another_model(beside: Beside, lines: list[Line], mark) -> tuple[Line, str, str] | None:
    """The line of a model whose own template begins turns in another way than the mark."""
    form = form_of(mark[1]) if mark else ""
    if not form or beside.matching(_OTHER_TEMPLATE):
        return None
    for line in lines:
        for found in _MODEL.finditer(line.text):
            name = found["name"].rpartition("/")[2]
            owns = {_OWN.get(family) for family, words in FAMILIES.items() if words.search(name)}
            if len(owns) == 1 and None not in owns and form not in owns:
                return line, name, owns.pop()
    return None
