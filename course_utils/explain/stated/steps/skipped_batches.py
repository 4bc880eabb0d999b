"""A resume that skips as many batches as steps were done, where a step takes several."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_STEPS = (
    r"(?P<steps>(?:self\.|state\.|args\.|ckpt\.|trainer\.)?\w*(?:step|steps|update|updates)\w*)"
)
_OF = r"(?:\w*(?:loader|dl|iter\w*|it|batches|data\w*|stream)\w*)"
_SKIPS = (
    rf"\bskip_first_batches\(\s*[\w.]+\s*,\s*(?:num_batches\s*=\s*)?{_STEPS}\s*\)",
    rf"\bislice\(\s*{_OF}\s*,\s*{_STEPS}\s*,\s*None",
    rf"\bif (?:\w*(?:i|idx|step|batch\w*|n))\s*<\s*{_STEPS}\s*:\s*continue",
)
_COMPILED = tuple(map(re.compile, _SKIPS))
_LOOP = re.compile(rf"^for \w+ in (?:tqdm\()?range\(\s*{_STEPS}\s*\)")
_DRAWS = re.compile(rf"\bnext\(\s*{_OF}\s*\)")
_A_STEP_OF_SEVERAL = re.compile(
    r"^for \w+ in range\(\s*[\w.]*(?:accum\w*|gas|ga_steps|micro\w*)\s*\)|"
    r"%\s*[\w.]*(?:accum\w*|gas|ga_steps)\s*(?:==|!=)|\bwith accelerator\.accumulate\("
)
_COUNTS = r"^(?:self\.|state\.)?{}\s*\+=\s*1\b"
_MULTIPLIED = re.compile(r"\*\s*[\w.]*(?:accum|gas\b|ga_steps|micro)|(?:accum\w*|gas)\s*\*")
_ACCUMULATES = re.compile(
    r"\b(?:gradient_accumulation(?:_steps)?|grad_?accum\w*|accum(?:ulation)?(?:_steps)?|gas|ga)"
    r"['\"]?\s*[:= ]\s*(?P<value>\d+)\b"
)
_SKIPPED = re.compile(
    r"\b(?:fast[- ]?forward\w*|skip\w*)\D{0,30}(?P<number>\d+) (?:micro-?)?batches", re.IGNORECASE
)
SURE = 9.0
TOO_FEW = (
    "the resume skips too few rows: the code skips as many batches as optimizer steps were done, "
    "and a step takes several batches{factor}. Rows that were trained on come again and the last "
    "ones of the epoch never come, so that the training loss is lower behind each resume and the "
    "model no better"
)
BY_BATCHES = (
    "skip step * gradient_accumulation_steps batches, or save the place of the sampler "
    "(a StatefulDataLoader); print the ids of the first rows behind the resume and compare them "
    "with those before; go on again from the first checkpoint, since rows are left out behind it"
)


def skipped_by_steps(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that skips `step` batches, beside a step of several batches."""
    lines = beside.words
    found, several = _skip(lines), beside.matching(_A_STEP_OF_SEVERAL)
    number = _accumulation(lines)
    if found is None or several is None or number == 1:
        return
    line, steps = found
    name = steps.rpartition(".")[2]
    if not any(re.match(_COUNTS.format(re.escape(name)), one.text) for one in lines):
        return
    if "%" in several[1] and not re.search(r"global|optim|update|complet", name):
        return  # it may count batches
    proof = [one.says for one in (line, several[0])]
    proof += _printed(lines, number)
    factor = f" ({number} of them)" if number else ""
    why = TOO_FEW.format(factor=factor)
    yield Finding("resumed_without_state", SURE, line, tuple(proof), why=why, advice=BY_BATCHES)


def _skip(lines: list[Line]) -> tuple[Line, str] | None:
    """The line that skips, and the name of what it counts by; None where that is multiplied."""
    for number, line in enumerate(lines):
        for pattern in _COMPILED:
            if found := pattern.search(line.text):
                return line, found["steps"]
        loop = _LOOP.search(line.text)
        below = "\n".join(one.text for one in lines[number : number + 2])
        if loop and _DRAWS.search(below):
            is_made = any(_sets_batches(one, loop["steps"]) for one in lines)
            return None if is_made else (line, loop["steps"])
    return None


def _sets_batches(line: Line, name: str) -> bool:
    """Whether a name was made a number of batches before."""
    return bool(re.match(rf"{re.escape(name)}\s*=", line.text) and _MULTIPLIED.search(line.text))


def _accumulation(lines: list[Line]) -> int:
    """How many batches a step takes; 0 if no line says so."""
    values = [int(one["value"]) for line in lines for one in _ACCUMULATES.finditer(line.text)]
    return max(values, default=0)


def _printed(lines: list[Line], number: int) -> list[str]:
    """What the run said that it skipped, and what it had read."""
    for line in lines:
        if found := _SKIPPED.search(line.text):
            read = f"; {int(found['number']) * number} had been read" if number else ""
            return [f"{line.where} says: {line.text.strip()[:80]}{read}"]
    return []
