"""Exercise 08.8: a loop the lesson has not shown; three variants, one fault each."""

from dataclasses import replace

from course_utils.checks.broken_script import Asked, Variant
from course_utils.checks.checking import leaves_its_inputs_alone
from course_utils.checks.declare import Criterion
from course_utils.exercises.lesson_08 import unseen_answers as answers
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

DIVIDES = (answers.divides, answers.divides_after_adding, answers.divides_with_a_weight)
WRONG_DIVIDES = (
    (answers.divides_by_its_own, cut_changes_nothing),
    (answers.divides_the_labels_only, cut_changes_nothing),
    (answers.divides_by_g_as_well, cut_changes_nothing),
    (answers.divides_by_both_counts, takes_two_means),
    (answers.divides_without_alpha, takes_two_means),
    (answers.divides_and_undoes_the_teacher, takes_two_means),
    (answers.divides_labels_by_the_teachers, takes_two_means),
    (answers.divides_and_logs_half, takes_two_means),
    (answers.divides_by_nothing, trains_one_model),
)
BOXES = ASKED.on(
    Variant(unseen_08.boxes_by_the_image(), "divide", "a"),
    "An unseen run: a detector of two minds",
    right=DIVIDES,
    wrong=WRONG_DIVIDES,
    unmended=cut_changes_nothing,
    elsewhere={"place": "count", "fix": unseen_08.count},
    mended=MENDED,
)
TERMS = ASKED.on(
    Variant(unseen_08.two_denominators(), "divide", "d"),
    "An unseen run: the mixing weight that moves",
    right=DIVIDES,
    wrong=WRONG_DIVIDES,
    unmended=cut_changes_nothing,
    elsewhere={"place": "log", "fix": unseen_08.log},
    mended=MENDED,
)
WIDTH = ASKED.on(
    Variant(unseen_08.the_width_counted(), "count", "e"),
    "An unseen run: the teacher that fades",
    right=(answers.counts, answers.counts_by_tensors, answers.counts_in_a_loop),
    wrong=(
        (answers.counts_sixteen_a_row, takes_two_means),
        (answers.counts_rows, takes_two_means),
        (answers.counts_places_for_both, takes_two_means),
        (answers.counts_ones, cut_changes_nothing),
        (answers.counts_the_labels_for_both, takes_two_means),
        (answers.counts_none_as_one, trains_one_model),
        (answers.counts_and_sorts, leaves_its_inputs_alone),
    ),
    unmended=cut_changes_nothing,
    elsewhere={"place": "divide", "fix": unseen_08.divide},
    mended=MENDED,
)
UNSEEN = replace(BOXES, also=(TERMS, WIDTH))
