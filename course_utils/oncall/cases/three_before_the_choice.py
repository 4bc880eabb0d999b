"""Scores of the run before, then questions left open, then held-out answers in kilos."""

from course_utils.oncall.cases import load
from course_utils.oncall.declare import Case, Edit

ALONE = ("scores_of_the_run_before", "question_left_open", "held_out_in_kilos")

CASE = Case(
    id="three_before_the_choice",
    level=3,
    template="choose_checkpoint",
    ticket="Three people have put this right, one after the other, and each was sure. At first all "
    "you heard was a dash, then somebody very young, then somebody who gave too little of "
    "everything. Please take it from the top: the folder is what it was on the first day.",
    faults=tuple(load(name).faults[0] for name in ALONE),
    non_fixes={
        "longer replies": (Edit("task.yaml", "max_length: 48", "max_length: 96"),),
        "fewer rows": (Edit("task.yaml", "limit: 96 ", "limit: 48 "),),
    },
)
