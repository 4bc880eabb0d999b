"""A reward that compares an answer with a whole worked solution, as a printed reply shows."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.final_answers import FORMS, form_of, plain
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_TRUTH = re.compile(
    r"(?:\[|\bmetadata\.|^\W*)"
    r"(?:ground[_ ]?truth|gold\w*|solution|target|expected|reference|answer)\W{1,3}(?P<text>.*)$",
    re.IGNORECASE,
)
_EXTRACTED = re.compile(r"^\W*(?:extracted|parsed)\b\W*(?P<value>-?\d[\d.,/]*)?\W*$", re.IGNORECASE)
_NUMBER = re.compile(r"^\W{0,2}(?P<value>-?\d[\d.,/]*)\W{0,2}$")
_UNPAID = re.compile(r"\b(?:score|reward)\b\W{1,4}0(?:\.0+)?(?![.\d])|\bincorrect\b", re.IGNORECASE)
_STORED = re.compile(
    r"ground[_ ]?truth['\"]?\s*[:=]\s*\w+(?:\[['\"](?:answer|solution|response|output)['\"]\]|\."
    r"(?:answer|solution))|\bexpected_answer\W{1,3}answer\b",
    re.IGNORECASE,
)
_OF_RIGHT = re.compile(r"correct|accura|exact|answer|match|solv", re.IGNORECASE)
SOLUTION = "#### ..."  # the form of the end of a worked solution
WORDS, NEAR, LONG = 3, 18, 12  # of a solution; lines to its reply; lines that it may have
SURE = 9.0
WHOLE = (
    "a right answer earns nothing: a reply that is shown gives {value}, and what it is compared "
    "with is a whole worked solution that ends in {value}, not its final answer. No answer that is "
    "taken from a reply equals that text, so that none is ever paid, however good the model is; "
    "the checkpoint and the sampler are not at fault"
)
FINAL_ANSWER = (
    "compare with the final answer alone (for GSM8K: "
    "answer.split('####')[-1].strip().replace(',', '')), in the rows of training and validation; "
    "then score the shown reply again, which must be paid"
)


def against_a_solution(beside: Beside, log: Log) -> Iterator[Finding]:
    """A worked solution, a reply near it that gives the same number, and a reward of 0."""
    lines = sorted((*beside.words, *log.entries), key=place)
    unpaid = _unpaid(beside, log)
    for number, line in enumerate(lines) if unpaid else ():
        value = _value_of(lines[number : number + LONG])
        reply = _reply(lines, number, value) if value else None
        if reply is None:
            continue
        told = [reply.says, line.says, unpaid]
        told += [stored[0].says] if (stored := beside.matching(_STORED)) else []
        why = WHOLE.format(value=value)
        proof = tuple(dict.fromkeys(told))
        yield Finding("constant_part", SURE, line, proof, why=why, advice=FINAL_ANSWER)
        return


def _unpaid(beside: Beside, log: Log) -> str:
    """What shows that right answers earn 0: the part for them, the reward or a score."""
    for name in sorted(log.fields):
        is_such = name == "reward" or (name.startswith("part:") and _OF_RIGHT.search(name))
        series = log.series(name)
        if is_such and series and not any(value for _, value in series):
            return f"{said(series[0][0], name)} in all {len(series)} entries"
    scored = beside.matching(_UNPAID)
    return f"{scored[0].where} says: {scored[1]}" if scored else ""


def _value_of(lines: list[Line | Entry]) -> str:
    """The number that a solution ends in which begins on the first of these lines; or ""."""
    head = _TRUTH.search(lines[0].text)
    texts = [head["text"], *(line.text for line in lines[1:])] if head else []
    words = 0
    for text in texts:
        before, mark, _ = text.partition("####")
        words += len(re.findall(r"[A-Za-z]{3,}", before))
        if mark:
            found = FORMS[SOLUTION].search(text)
            return found["value"].rstrip(".") if found and words >= WORDS else ""
    return ""


def _reply(lines: list[Line | Entry], number: int, value: str) -> Line | Entry | None:
    """The line of a reply near the solution that gives its number in one of the usual forms."""
    near = lines[max(0, number - NEAR) : number + NEAR]
    for line, below in pairwise([*near, Line("line 0", "")]):
        if _TRUTH.search(line.text) and "####" in line.text:
            continue
        form = form_of(line.text, value)
        if form and not (form == SOLUTION and place(line) > place(lines[number])):
            return line
        if found := _EXTRACTED.match(line.text):
            told = found["value"] or (n["value"] if (n := _NUMBER.match(below.text)) else "")
            if told and plain(told) == plain(value):
                return line
    return None
