"""How long prompts are in two places of one log: always as many tokens apart."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, place, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.scores import scores

_STAT = re.compile(
    r"\b(?P<name>min(?:imum)?|p\d{1,2}|median|mean|avg|average|max(?:imum)?)\b['\"]?\s*[:=]?\s*"
    r"(?P<value>\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)
_OF_PROMPTS = re.compile(r"\b(?:prompts?|inputs?|input_ids|context)\b", re.IGNORECASE)
_OTHER = re.compile(
    r"\b(?:repl(?:y|ies)|completions?|outputs?|generated|responses?|chars?|words)\b", re.I
)
_TRAIN = re.compile(r"\b(?:train\w*|data ?set|sft)\b", re.IGNORECASE)
_ASKED = re.compile(
    r"\b(?:eval\w*|serv\w*|infer\w*|generat\w*|bench\w*|api|vllm|sglang|prod\w*|test|\w*_eval\w*)\b|_eval",
    re.I,
)
_SYSTEM = re.compile(
    r"\b(?:new_|default_)?system(?:[-_ ](?:prompt|message))?['\"]?\s*[:=]\s*"
    r"(?!\s*(?:none|null|$|['\"]{2}))\S.*|"
    r"\brole['\"]?\s*:\s*['\"]system['\"].*|\bsystem_(?:prompt|message)\b.*",
    re.IGNORECASE,
)
_FEW_SHOTS = re.compile(
    r"\b(?:few[-_ ]?shots?|num_fewshot|\d+[- ]shot|exemplars?)\b", re.IGNORECASE
)
_NAMES = {"average": "mean", "avg": "mean", "median": "p50", "minimum": "min", "maximum": "max"}
FEWEST, LEAST, NEAR, ABOVE = 3, 12.0, 0.12, 6  # statistics; tokens; of the difference; lines
KNOWN, SHOWN = 8.8, 7.4
PART_IS_MISSING = (
    "the prompts at inference are not those of the training: they have about {n:.0f} tokens fewer "
    "in each statistic ({which}), which is no other mix of rows but a part of the same length that "
    "all of them lack{system}. So the model answers without the frame that it was trained in"
)
IT_IS_SYSTEM = ": the system message that is set in the training"
PUT_IT_BACK = (
    "build the prompts with the code that built the rows of the training (the same system message "
    "first, through apply_chat_template), print the ids of one row from both, and evaluate again; "
    "the weights need no further training"
)


@dataclass(frozen=True)
class Lengths:
    """The statistics of one line, and what stands above it."""

    line: Line | Entry
    values: dict[str, float]
    around: str


def prompt_is_shorter(beside: Beside, log: Log) -> Iterator[Finding]:
    """Prompts of an evaluation that lack as many tokens in each statistic."""
    rows = lengths([*(line for line in beside.words), *log.entries])
    if beside.matching(_FEW_SHOTS):
        return
    for one in rows:
        for other in rows:
            of_training = _TRAIN.search(one.around) and not _ASKED.search(one.line.text)
            if not of_training or not _ASKED.search(other.around) or one is other:
                continue
            if (steady := apart(one, other)) is None or steady < LEAST:
                continue
            yield _finding(one, other, steady, beside, log)
            return


def _finding(one: Lengths, other: Lengths, steady: float, beside: Beside, log: Log) -> Finding:
    system = beside.matching(_SYSTEM)
    names = [name for name in one.values if name in other.values and name != "max"]
    which = ", ".join(f"{n} {one.values[n]:g} and {other.values[n]:g}" for n in names)
    lines = [one.line, other.line]
    proof = [x.says for x in lines]
    proof += [f"{system[0].where} says: {system[1].strip()[:MAX_QUOTE]}"] if system else []
    low = next(scores(x for x in beside.words if place(x) > place(other.line)), None)
    proof += [f"{low[0].where}: {low[1]} {low[2]:g}"] if low else []
    why = PART_IS_MISSING.format(n=steady, which=which, system=IT_IS_SYSTEM if system else "")
    untold = (
        "" if system else "which part it is: a system message, a list of tools, or an instruction"
    )
    of = ("template_differs", KNOWN if system else SHOWN, other.line, tuple(proof))
    return Finding(*of, why=why, advice=PUT_IT_BACK, untold=untold)


def lengths(parts: Iterable[Line | Entry]) -> list[Lengths]:
    """Every line with statistics of the length of prompts."""
    ordered, found = sorted(parts, key=place), []
    for number, line in enumerate(ordered):
        values = {
            _NAMES.get(m["name"].lower(), m["name"].lower()): plain_number(m["value"])
            for m in _STAT.finditer(line.text)
        }
        above = " \n".join(x.text for x in ordered[max(0, number - ABOVE) : number + 1])
        near = "\n".join(x.text for x in ordered[max(0, number - 2) : number + 1])
        is_such = _OF_PROMPTS.search(near) and not _OTHER.search(line.text)
        if len(values) >= FEWEST and is_such:
            found.append(Lengths(line, values, _since_last(above)))
    return found


def _since_last(text: str) -> str:
    """The lines back to the last blank or rule, so that another block's words are not taken."""
    return re.split(r"\n\s*\n|\n-{3,}\s*\n", text)[-1]


def apart(one: Lengths, other: Lengths) -> float | None:
    """By how many tokens all statistics but the largest are apart; None if they differ in it."""
    names = [name for name in one.values if name in other.values and name != "max"]
    gaps = [one.values[name] - other.values[name] for name in names]
    if len(gaps) < FEWEST - 1 or min(gaps) <= 0 or max(gaps) - min(gaps) > NEAR * max(gaps):
        return None
    return sum(gaps) / len(gaps)
