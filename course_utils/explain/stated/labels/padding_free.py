"""Rows that are joined without padding, under an attention that does not keep them apart."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said

_FREE = re.compile(
    r"(?:--)?\b(?:padding_free|remove_padding|use_remove_padding)['\"]?(?:\s*[:= ]\s*['\"]?"
    r"(?P<value>true|false|1|0)\b)|--(?:padding_free|use_remove_padding)(?= +(?:--|\\|\.\.)| *$)",
    re.IGNORECASE,
)
_IN_FORCE = re.compile(
    r"^\W*(?P<bare>sdpa|eager)\W*$|\b_?attn_impl\w*['\"]?\s*[:=]\s*['\"]?(?P<named>sdpa|eager)\b"
)
_FLASH = re.compile(r"^\W*flash_attention_[23]\W*$|\bvarlen\b|\bcu_seq_?lens|block[- ]diagonal")
_UNMASKED = re.compile(r"(?!.*attention_mask)(?=.*input_ids)(?=.*position_ids).*")
_BEGINS_AGAIN = re.compile(r"\d+, ?\d+, ?0, ?1, ?2\b")
_INSTEAD = re.compile(
    r"\bloss\b[^.;\n]{0,30}?(?P<high>\d+\.\d+) (?:instead of|and not|rather than|vs\.?|against) "
    r"(?P<low>\d+\.\d+)",
    re.IGNORECASE,
)
HIGHER, NEAR, SURE = 1.25, 0.05, 9.0  # times the loss of padded rows; of it; both runs
LEAK = (
    "the rows of a batch see each other: padding_free joins them to one row and leaves it to the "
    "attention to keep them apart, which FlashAttention does by their positions; here the model "
    "runs {attention}, so that a row attends to all those before it"
)
SET_IT = (
    "hand FlashAttention to the very call that loads the model (in TRL through model_init_kwargs) "
    "until its config names it, or pad the rows; the model of this run has learnt from mixed rows: "
    "train it again"
)


def joined_without_flash(beside: Beside, log: Log) -> Iterator[Finding]:
    """padding_free beside sdpa or eager, and a loss above that of the same rows with padding."""
    on = _switched(beside, on=True)
    attention = beside.matching(_IN_FORCE)
    if not on or attention is None or beside.matching(_FLASH):
        return
    effect = _of_runs(beside, log) or _as_told(beside)
    if not effect:
        return
    found = _IN_FORCE.search(attention[1])
    name = found["bare"] or found["named"]
    proof = [f"{on[0].where} says: {_FREE.search(on[0].text)[0].strip()}"]
    proof.append(f"{attention[0].where} says: {attention[1].strip()}, so what runs is {name}")
    for pattern in (_UNMASKED, _BEGINS_AGAIN):
        shown = [one for one in beside.all_matching(pattern) if "loss" not in one[1] and one[1]]
        proof += [line.says for line, _ in shown[:1]]
    proof += effect
    why = LEAK.format(attention=name)
    yield Finding("packing_leak", SURE, on[0], tuple(proof), why=why, advice=SET_IT)


def _switched(beside: Beside, on: bool) -> list[Line]:
    """The lines that switch it on, or off."""
    return [
        line for line in beside.words if (found := _FREE.search(line.text)) and _is_on(found) is on
    ]


def _is_on(found: re.Match) -> bool:
    """Whether it is set to a truth, or stands alone as a flag."""
    return found["value"] is None or found["value"].lower() in ("true", "1")


def _of_runs(beside: Beside, log: Log) -> list[str]:
    """The first loss of a run with it beside that of one without it; and with one row a batch."""
    runs = [run for run in (*log.earlier, log) if run.entries and finite(run.values("loss"))]
    heads = sorted([*_switched(beside, True), *_switched(beside, False)], key=place)
    starts: dict[bool, list[tuple[Entry, float]]] = {True: [], False: []}
    for run in runs:
        entry, loss = next((e, v) for e, v in run.series("loss") if v == v)
        before = [line for line in heads if place(line) < place(entry)]
        if before:
            starts[_is_on(_FREE.search(before[-1].text))].append((entry, loss))
    if not starts[True] or not starts[False]:
        return []
    (joined, high), (padded, low) = max(starts[True], key=lambda one: one[1]), starts[False][0]
    if high < HIGHER * low or low <= 0:
        return []
    told = [f"{said(joined, 'loss')} with it at {joined.where}, {said(padded, 'loss')} without it"]
    same = [(e, v) for e, v in starts[True] if abs(v - low) < NEAR * low]
    told += [f"{said(e, 'loss')} at {e.where}, in another run with it: as without" for e, _ in same]
    return told


def _as_told(beside: Beside) -> list[str]:
    """What the writer says of a loss that is higher with it."""
    for line in beside.told():
        found = _INSTEAD.search(line.text)
        if found and float(found["high"]) > HIGHER * float(found["low"]):
            return [f"{line.where} says: {found[0]}"]
    return []
