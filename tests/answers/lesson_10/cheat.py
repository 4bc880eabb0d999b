"""Right and wrong answers of exercise 10.1."""

from course_utils.exercises.lesson_10 import cheat
from course_utils.exercises.lesson_10.cheat import ALL, GOLDS, GOOD
from course_utils.reproductions.lesson_10.verifiers import VERIFIERS
from tests.answers import answers_of

right, wrong = answers_of(cheat.CHEAT)

TEMPTING = {
    "1": ("192", "1", "the answer", "0123456789", " ", "\n\t  "),
    "2": ("192", "0 to 297", " ".join(map(str, range(100))), "182 or 192 or 202"),
    "3": ("inf", "192", "1e309", "", "-0.0"),
}

right({1: "", 2: ",".join(reversed(GOLDS)), 3: " NaN\n"})
right({"1": ALL, "2": f"one of {ALL}", "3": "-nan"})
wrong({}, caught_by=cheat.three_short_texts)
wrong({"1": "", "2": ALL}, caught_by=cheat.three_short_texts)
wrong(GOOD | {"3": float("nan")}, caught_by=cheat.three_short_texts)
wrong(GOOD | {"2": list(range(298))}, caught_by=cheat.three_short_texts)
wrong(GOOD | {"2": " ".join(map(str, range(1000)))}, caught_by=cheat.three_short_texts)
for n in VERIFIERS:
    for bad in TEMPTING[n]:
        wrong(GOOD | {n: bad}, caught_by=cheat.PAID[n])
