"""Answers of GSM8K that a reward compares as they are: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_OF_RIGHT = re.compile(r"correct|accura|exact|answer|match|solv", re.IGNORECASE)
_OF_FORM = re.compile(r"form|tag|think|xml|struct|strict|length", re.IGNORECASE)
_GSM8K = re.compile(r"\bgsm8k\b['\"]", re.IGNORECASE)
_TAKEN_APART = re.compile(r"####|\.split\(|\bextract_\w*answer|\bmath_verify\b|\bparse\(")
FEW, PAID = 5, 0.2  # entries; of the other parts at last
WHOLE_SOLUTION = (
    "no reply was ever paid for a right answer ({name} is 0 in all entries), while the rest of the "
    "reward is earned: the column `answer` of GSM8K is the whole solution, with #### and the "
    "number at its end, and nothing here takes the number out of it, so that no reply can equal "
    "it, however good the model"
)
TAKE_THE_NUMBER = (
    "compare with answer.split('####')[-1].strip().replace(',', ''); call the function by hand on "
    "a right reply, which must be paid, and train again from the start"
)


def whole_solutions(log: Log, beside: Beside) -> Finding | None:
    """The part for right answers is 0 throughout, and another one is earned in the end."""
    parts = {name: log.values(name) for name in sorted(log.fields) if name.startswith("part:")}
    whole, apart = beside.matching(_GSM8K), beside.matching(_TAKEN_APART)
    if not whole or apart or not any(v and v[-1] >= PAID for v in parts.values()):
        return None
    for name, values in parts.items():
        is_of_right = _OF_RIGHT.search(name) and not _OF_FORM.search(name)
        if is_of_right and len(values) >= FEW and not any(values):
            entry, _ = log.series(name)[-1]
            proof = (f"{said(entry, name)} in all {len(values)} entries", whole[0].says)
            why = WHOLE_SOLUTION.format(name=entry.names[name])
            of = ("constant_part", 8.6, entry, proof)
            return Finding(*of, why=why, advice=TAKE_THE_NUMBER)
    return None


RULES_OF_SETTINGS = (whole_solutions,)
