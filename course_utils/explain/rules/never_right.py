"""A part of the reward for right answers that no reply ever earned: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_OF_RIGHT = re.compile(r"correct|accura|exact|answer|match|solv", re.IGNORECASE)
_OF_FORM = re.compile(r"form|tag|think|xml|struct|strict|length", re.IGNORECASE)
_GSM8K = re.compile(r"\b(?:openai/)?gsm8k\b['\"]", re.IGNORECASE)
_TAKEN_APART = re.compile(r"####|\.split\(|\bextract_\w*answer|\bmath_verify\b|\bparse\(")
FEW, PAID = 5, 0.2  # entries; of the other parts at last
NEVER = (
    "no reply was ever paid for a right answer ({name} is 0 in all entries), while the rest of the "
    "reward is earned: {because}"
)
WHOLE_SOLUTION = (
    "the column `answer` of GSM8K is the whole solution, with #### and the number at its end, and "
    "nothing here takes the number out of it, so that no reply can equal it, however good the model"
)
EITHER = "either what compares the answers cannot be met by a right one, or the task is too hard"
TAKE_THE_NUMBER = (
    "compare with answer.split('####')[-1].strip().replace(',', ''); call the function by hand on "
    "a right reply, which must be paid, and train again from the start"
)
CALL_IT = "call that reward by hand on one right reply and its row, which must be paid"


def never_right(log: Log, beside: Beside) -> Finding | None:
    """The part for right answers is 0 throughout, and another one is earned in the end."""
    parts = {name: log.values(name) for name in sorted(log.fields) if name.startswith("part:")}
    earned = any(values and values[-1] >= PAID for values in parts.values())
    for name, values in parts.items() if earned else ():
        is_of_right = _OF_RIGHT.search(name) and not _OF_FORM.search(name)
        if not is_of_right or len(values) < FEW or any(values):
            continue
        entry, _ = log.series(name)[-1]
        proof = [f"{said(entry, name)} in all {len(values)} entries"]
        whole = beside.matching(_GSM8K) if not beside.matching(_TAKEN_APART) else None
        proof += [whole[0].says] if whole else []
        because, advice = (WHOLE_SOLUTION, TAKE_THE_NUMBER) if whole else (EITHER, CALL_IT)
        why = NEVER.format(name=entry.names[name], because=because)
        weight = 8.6 if whole else 5.0
        return Finding("constant_part", weight, entry, tuple(proof), why=why, advice=advice)
    return None


RULES_OF_SETTINGS = (never_right,)
