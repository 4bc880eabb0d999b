"""A reference that is loaded anew with each resume, from the policy's own checkpoint:
`rule(log, beside)`."""

import math
import re
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_LOADED = re.compile(
    r"(?P<name>(?:\w+\.)*\w+)\s*=\s*[\w.]+\.from_pretrained\(\s*(?P<of>[A-Za-z_][\w.\[\]'\"]*)"
)
_COPIED = re.compile(
    r"(?P<name>(?:\w+\.)*\w*ref\w*)\s*=\s*(?:copy\.)?(?:deepcopy|create_reference_model)\(\s*\w*model"
)
_SAID_COPIED = re.compile(  # what a program prints of it: "ref <- copy of policy"
    r"\b(?:ref\w*|frozen|anchor)\b\W{0,3}(?:<-|=|:|is|from)\s*(?:a )?cop(?:y|ied) (?:of|from) "
    r"(?:the )?(?:policy|actor|model)\b",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"(?:^|[._])(?:ref|reference)", re.IGNORECASE)
_OTHER_MODEL = re.compile(r"reward|rm\b|critic|value|judge|teacher|draft|tok", re.IGNORECASE)
_FROM_CHECKPOINT = re.compile(
    r"(?:--(?:model|pretrain|model_name_or_path|actor_path|policy_path|load)[\w-]*|"
    r"\bmodel_(?:path|name_or_path)|\bmodel\.path)['\"]?[\s=:]+['\"]?\S*"
    r"(?:\$\{?(?:LAST|LATEST|CKPT|RESUME|CHECKPOINT)|checkpoint-|global_step|iter_\d|/step_?\d|"
    r"last_checkpoint|latest)",
    re.IGNORECASE,
)
_RESUMED = re.compile(r"\bresum(?:e|ed|es|ing)\b|\bpreempt\w*|\brestart(?:ed|s)?\b", re.IGNORECASE)
_ON_PURPOSE = re.compile(
    r"sync_ref_model|ref_model_(?:sync|mixup)|ref_(?:update|reset|sync)|reset[_ -](?:the )?ref|"
    r"reference (?:is |was )?(?:reset|updated|refreshed) (?:every|on purpose)|\btr-dpo\b",
    re.IGNORECASE,
)
FEW, FELL, NEAR, JUMPED = 3, 5.0, 2.0, 0.2  # entries; times; times the first; of a reward
MOVES = (
    "the reference is loaded anew with each resume, from the checkpoint at which the policy "
    "stands then: the KL begins again near 0 {times}, so that its limit holds for one part of the "
    "run alone, and the policy may go as far again in each of them"
)
FROM_THE_FIRST = (
    "give the reference a path of its own, the model of the very start, with every resume; measure "
    "the KL to that model for the checkpoints that are there, and go on from the last one before "
    "the first resume"
)


def reference_of_the_resume(log: Log, beside: Beside) -> Finding | None:
    """The kl falls back to where it began, more than once or at a resume; nothing else jumps."""
    falls = _falls(log)
    if not falls or beside.matching(_ON_PURPOSE):
        return None
    code = _in_code(beside)
    passed, resumed = beside.matching(_FROM_CHECKPOINT), beside.matching(_RESUMED)
    if not (resumed or passed) or not (code or len(falls) > 1):
        return None
    proof = [
        f"{said(before, 'kl')} at {before.where}, {said(after, 'kl')} at {after.where}"
        for before, after in falls[:3]
    ]
    shown = [*code, *([passed[0]] if passed else [resumed[0]])]
    proof += [line.says for line in shown]
    proof += _back_at_the_start(log, falls)
    times = f"({', '.join(after.where for _, after in falls[:4])})"
    weight = 9.2 if code else 7.0
    why = MOVES.format(times=times)
    of = ("reference_moves", weight, falls[0][1], tuple(proof))
    return Finding(*of, why=why, advice=FROM_THE_FIRST)


def _falls(log: Log) -> list[tuple[Entry, Entry]]:
    """Pairs of entries between which the kl is back near its first value, and the reward is not."""
    series = [(e, v) for e, v in log.series("kl") if math.isfinite(v)]
    if len(series) < 2 * FEW or not series[0][1] >= 0:
        return []
    start = max(series[0][1], 1e-6)
    found = []
    for (one, before), (other, after) in pairwise(series):
        is_back = before > FELL * max(after, start) and after <= NEAR * start
        if is_back and not _jumps(one, other) and _grows_again(series, other):
            found.append((one, other))
    return found


def _jumps(one: Entry, other: Entry) -> bool:
    """Whether the policy itself is another: its reward or its length jumps too."""
    for name in ("reward", "length"):
        values = [entry.numbers.get(name) for entry in (one, other)]
        if None not in values and abs(values[1] - values[0]) > JUMPED * abs(values[0]):
            return True
    return False


def _grows_again(series: list[tuple[Entry, float]], at: Entry) -> bool:
    place = next(n for n, (entry, _) in enumerate(series) if entry is at)
    behind = [value for _, value in series[place : place + FEW]]
    return len(behind) < 2 or behind[-1] > behind[0]


def _in_code(beside: Beside) -> list[Line]:
    """The lines that load policy and reference from one name."""
    loaded: list[tuple[str, str, Line]] = [
        (found["name"], found["of"], line)
        for line in beside.words
        if (found := _LOADED.search(line.text)) and not _OTHER_MODEL.search(found["name"])
    ]
    for name, of, line in loaded:
        for other, same, below in loaded:
            if _REFERENCE.search(other) and not _REFERENCE.search(name) and of == same:
                return [line, below]
    printed = [line for line in beside.words if _SAID_COPIED.search(line.text)]
    if len(printed) > 1:
        return printed[:3]
    copied = [line for line in beside.words if _COPIED.search(line.text)]
    return copied[:1] if copied and loaded else []


def _back_at_the_start(log: Log, falls: list[tuple[Entry, Entry]]) -> list[str]:
    """That the loss is at ln 2 there, which is DPO's where policy and reference are the same."""
    after = falls[0][1]
    if abs(after.numbers.get("loss", 0.0) - math.log(2)) > 0.005:
        return []
    return [f"{said(after, 'loss')} at {after.where}: ln 2, as where both are the same"]


RULES_OF_SETTINGS = (reference_of_the_resume,)
