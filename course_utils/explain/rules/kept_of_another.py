"""DPO with log-probs of a reference that were kept as columns, and are those of another model:
`rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_COLUMNS = re.compile(
    r"\bref(?:erence)?_(?:chosen|rejected)_log_?p\w*|\bref(?:erence)? (?:log-?p\w*|columns?)\b"
    r".{0,40}\b(?:found|kept|stored|cached|loaded|reused?)\b|"
    r"\b(?:found|loaded|reus\w+|cached|stored) .{0,30}\bref(?:erence)?[_ ](?:log-?_?p\w*|columns?)",
    re.IGNORECASE,
)
_REF = r"\bref\w*\b"
_SKIPPED, _FOUND = (
    re.compile(rf"(?:{words}).{{0,60}}{_REF}|{_REF}.{{0,60}}(?:{words})", re.IGNORECASE)
    for words in (
        r"\bskip\w*|\bnot (?:computed|run|loaded)\b",
        r"\b(?:found|loaded|reus\w+|cache\w*|stored)\b",
    )
)
_MADE = re.compile(
    r"\b(?:created|computed|made|written|generated|produced)\b.{0,40}\b(?:by|with|from|on)\b", re.I
)
_MEAN = re.compile(r"\bref(?:erence)?_chosen_log_?p\w*\W{1,3}(?P<n>-\d[\d.]*)", re.IGNORECASE)
FAR, START, NEAR = 1.0, 0.01, 0.03  # a reward; an epoch; of a log-prob
OF_ANOTHER_MODEL = (
    "the rewards of DPO are far from 0 in the first step, where policy and reference must agree: "
    "the log-probs of the reference are not computed but read from what was kept, and do not fit "
    "the model that is trained now, as where they were made with an earlier one (or for other "
    "lengths). What DPO learns first is to go back to that model"
)
MAKE_ANEW = (
    "delete what was kept and compute the reference's log-probs with the model that the run begins "
    "with; let the name of the cache hold that model (its path and a hash), and assert that the "
    "rewards of the first step are 0"
)


def kept_of_another(log: Log, beside: Beside) -> Finding | None:
    """Columns of the reference that are found and not computed, and rewards far from 0 at once."""
    lines = beside.words
    columns = next((line for line in lines if _COLUMNS.search(line.text)), None)
    skipped = beside.matching(_SKIPPED) or beside.matching(_FOUND)
    first = log.entries[0] if log.entries else None
    if columns is None or skipped is None or first is None or not _begins_far(first, log):
        return None
    made = [line for line in lines if _MADE.search(line.text)]
    shown = [columns, skipped[0], *made[:1]]
    proof = [f"{said(first, 'chosen_reward', 'rejected_reward')} at {first.where}; both must be 0"]
    proof += [one.says for one in shown]
    proof += [*meant(first, beside), *_agrees(first, lines, beside)]
    proof = tuple(dict.fromkeys(proof))
    why, advice = OF_ANOTHER_MODEL, MAKE_ANEW
    return Finding("wrong_reference", 8.6, first, proof, why=why, advice=advice)


def _begins_far(first: Entry, log: Log) -> bool:
    """Whether both rewards are far from 0, on one side of it, where the run has just begun, and
    move less from there on than they are from 0."""
    numbers = first.numbers
    if not {"chosen_reward", "rejected_reward"} <= numbers.keys():
        return False
    step, epoch = numbers.get("step"), numbers.get("epoch")
    begins = step <= 1 if step is not None else epoch is not None and epoch <= START
    chosen, rejected = numbers["chosen_reward"], numbers["rejected_reward"]
    if not begins or min(abs(chosen), abs(rejected)) < FAR or chosen * rejected < 0:
        return False
    return all(abs(v - chosen) < abs(chosen) for _, v in log.series("chosen_reward")[:3])


def _agrees(first: Entry, lines: list[Line], beside: Beside) -> list[str]:
    """The kept mean, if it is the log-prob that the rewards of the first step stand for."""
    beta = next((one.number for one in beside.of("beta") if one.number), None)
    reward, logp = (first.numbers.get(name) for name in ("chosen_reward", "chosen_logp"))
    if not beta or reward is None or logp is None:
        return []
    is_of = logp - reward / beta
    for line in lines:
        found = _MEAN.search(line.text)
        if found and abs(float(found["n"]) - is_of) < NEAR * abs(is_of):
            return [f"{line.where} says that the kept ones have {found['n']} in the mean"]
    return []


def meant(entry: Entry, beside: Beside) -> list[str]:
    """The log-prob that the reference must have had."""
    beta = next((s.number for s in beside.of("beta") if s.number), None)
    beta = beta or _flag(beside)
    reward, logp = (entry.numbers.get(name) for name in ("chosen_reward", "chosen_logp"))
    if not beta or reward is None or logp is None:
        return []
    meant = logp - reward / beta
    return [
        f"a chosen log-prob of {logp:g} and a reward of {reward:g} at beta {beta:g} mean that the "
        f"reference had {meant:.1f}: that of the model which was in use when it was kept"
    ]


def _flag(beside: Beside) -> float | None:
    found = beside.matching(re.compile(r"--(?:dpo_)?beta[= ](\d*\.\d+)"))
    return float(found[1].replace("=", " ").split()[-1]) if found else None


RULES_OF_SETTINGS = (kept_of_another,)
