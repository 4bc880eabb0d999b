"""A run that ends before the first step at which it would save or evaluate."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.usual_words import TOTAL_STEPS

_N = r"['\"]?(?:\s*[=:]\s*|\s+)['\"]?(?P<n>\d[\d_]*)(?![\d.]*\d)"
_SAVES = re.compile(rf"\b(?P<name>save_steps|checkpointing_steps|save_interval){_N}")
_JUDGES = re.compile(rf"\b(?P<name>eval_steps|evaluation_steps){_N}")
_BAR = re.compile(r"\b100%\S*\s*(?P<n>\d+)/(?P=n) \[")
_SAVED = re.compile(
    r"Saving model checkpoint|\.save_model\(|\.save_pretrained\(|checkpoint-\d+\b|"
    r"Configuration saved in|save_strategy['\"]?\s*[=:]\s*['\"]?(?:epoch|no|best)",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"\b(?:no|not|never|without|missing|empty|where)\b.{0,50}"
    r"\b(?:checkpoints?|saved?|model|adapter|eval\w*|files?|output)\b|"
    r"\b(?:eval_loss|evaluation|checkpoints?|output)\b.{0,40}\b(?:not|never|missing|empty|gone|no)\b",
    re.IGNORECASE,
)
SURE = 7.8
NEVER = (
    "the run has {steps} steps, and {what}: its first {deed} would come behind the end, so that "
    "nothing {done}"
)
SOONER = (
    "save_steps and eval_steps well below the number of steps (or save_strategy='epoch' and "
    "eval_strategy='epoch'), and trainer.save_model(output_dir) behind train(); what was not saved "
    "is gone when the process ends, and has to be trained again"
)


def ends_before_it_saves(beside: Beside, log: Log) -> Iterator[Finding]:
    """save_steps or eval_steps above the steps of the run, and somebody who misses the result."""
    planned = beside.first(TOTAL_STEPS) or beside.first(_BAR)
    missed = next((line for line in beside.told() if _MISSING.search(line.text)), None)
    if planned is None or missed is None:
        return
    steps = int(plain_number(planned[1][1]))
    saves = None if beside.matching(_SAVED) else _beyond(beside, _SAVES, steps)
    judges = None if log.values("eval_loss") else _beyond(beside, _JUDGES, steps)
    found = [one for one in (saves, judges) if one]
    if not found:
        return
    deed = "checkpoint" if saves else "evaluation"
    done = "was saved" if saves else "was evaluated"
    done = f"{done} or evaluated" if saves and judges else done
    what = " and ".join(f"{name} is {number}" for _, name, number in found)
    why = NEVER.format(steps=steps, what=what, deed=deed, done=done)
    proof = (*(line.says for line, *_ in found), planned[0].says, missed.says)
    yield Finding(
        "ends_before_it_saves",
        SURE,
        found[0][0],
        tuple(dict.fromkeys(proof)),
        why=why,
        advice=SOONER,
    )


def _beyond(beside: Beside, pattern: re.Pattern, steps: int) -> tuple[Line, str, int] | None:
    """The last such setting, if it is above the steps of the run."""
    told = [(line, m) for line in beside.words for m in pattern.finditer(line.text)]
    if not told:
        return None
    line, found = told[-1]
    number = int(plain_number(found["n"]))
    return (line, found["name"], number) if number > steps else None
