"""Exercise 08.8: a loop the lesson has not shown; three variants, one fault each."""

from dataclasses import replace

from course_utils.checks.broken_script import Asked, Variant
from course_utils.checks.declare import Criterion
from course_utils.exercises.lesson_08.unseen_looks import (
    Tried,
    cut_changes_nothing,
    takes_two_means,
    trains_one_model,
)
from course_utils.reproductions.lesson_08 import unseen_08

ASKED = Asked(
    id="08.8",
    minutes=10,
    hints=(
        "Does the gradient depend on the cut by a factor, by the weights, or by more?",
        "compare_splits(run.step, run.rows[:8], model=run.model) shows both terms together. "
        "Put a part in that drops one of them, and look again.",
        "Take the part that makes what you found. What does each term divide by, and is that "
        "number the same for every micro-batch of the step?",
    ),
    place_next="read the three parts with one question: is this number the whole step's?",
    cause_next="call compare_splits on the run, and on one that has a single term",
    tried=Tried,
    time_limit_s=60.0,
)
MENDED = (
    Criterion(
        "With your part, every cut gives one gradient and one log.",
        cut_changes_nothing,
        why="the gradient of the step is what is learnt, and the log is what is read",
        next="compare run.gradient of one micro-batch and of eight, in later steps, too",
    ),
    Criterion(
        "They are those of the labels' mean plus half the teacher's mean.",
        takes_two_means,
        why="a mend keeps the loss it mends, and a cut does not say which loss is meant",
        next="by what is each term divided, and how many targets of its own has it in the step?",
    ),
    Criterion(
        "Trained on other seeds, every cut gives the same model and the same log.",
        trains_one_model,
        why="rows without a label add nothing to their count; a step may hold no others",
        next="what does your part do where a count of labels is 0?",
    ),
)


def divides(sums, own, step, num_micro):
    label = sums["label"] / max(step["label"], 1)
    return label + 0.5 * sums["teacher"] / step["teacher"]


def counts(rows):
    labels = sum(int((~row.label.isnan()).sum()) for row in rows)
    return {"label": labels, "teacher": sum(len(row.teacher) for row in rows)}


BOXES = ASKED.on(
    Variant(unseen_08.boxes_by_the_image(), "divide", "a"),
    "An unseen run: a detector of two minds",
    mend=divides,
    mended=MENDED,
)
TERMS = ASKED.on(
    Variant(unseen_08.two_denominators(), "divide", "d"),
    "An unseen run: the mixing weight that moves",
    mend=divides,
    mended=MENDED,
)
WIDTH = ASKED.on(
    Variant(unseen_08.the_width_counted(), "count", "e"),
    "An unseen run: the teacher that fades",
    mend=counts,
    mended=MENDED,
)
UNSEEN = replace(BOXES, also=(TERMS, WIDTH))
