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
    minutes=12,
    hints=(
        "What changes with the split: a factor, the weights, or more than that?",
        "compare_splits(run.step, run.rows[:8], model=run.model) shows both terms together. "
        "Replace a part by one that drops one of the terms, and look again.",
        "Look at the part that can cause what you found. What is each term divided by, and is that "
        "number the same for every micro-batch of the step?",
    ),
    place_next="read the three parts and ask of each number: does it belong to the whole step?",
    cause_next="call compare_splits on the run, and on a run that has only one of the terms",
    tried=Tried,
    time_limit_s=60.0,
)
MENDED = (
    Criterion(
        "With your part, every split gives the same gradient and the same log.",
        cut_changes_nothing,
        why="the model learns from the gradient of the step, and people read the log",
        next="compare run.gradient of one micro-batch and of eight, also in later steps",
    ),
    Criterion(
        "They are those of the labels' mean plus half the teacher's mean.",
        takes_two_means,
        why="a fix must train the intended loss, and a gradient that is equal for all splits can "
        "be of another loss",
        next="by what is each term divided, and how many targets does that term have in the step?",
    ),
    Criterion(
        "Trained on other seeds, every split gives the same model and the same log.",
        trains_one_model,
        why="rows without a label add nothing to the count of labels, and a step may hold only "
        "such rows",
        next="what does your part do where the count of labels is 0?",
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
    "An unseen run: a detector that depends on the batch size",
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
