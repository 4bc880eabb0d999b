"""Exercise 08.8: a loop the lesson has not shown; three variants, one fault each."""

from dataclasses import replace

from course_utils.checking import leaves_its_inputs_alone
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_08 import unseen_answers as answers
from course_utils.exercises.lesson_08.unseen_looks import (
    Tried,
    Variant,
    cut_changes_nothing,
    form_differs,
    names_the_cause,
    names_the_place,
    trains_one_model,
)
from course_utils.reproductions import unseen_08
from course_utils.reproductions.unseen_08 import CAUSES


def _exercise(variant: Variant, title: str, *, right, wrong_fixes, other_part) -> Exercise:
    """The exercise on one variant; what it lists are mends, put into whole answers here."""
    diagnosis = {"place": variant.place, "cause": variant.cause}
    tempting = [letter for letter in CAUSES if letter != variant.cause][:3]

    def fits_the_ticket(unseen: dict) -> str | None:
        return form_differs(variant, unseen)

    good = diagnosis | {"fix": right[0]}
    lenient = {"place": f" {variant.place.title()}", "cause": f"({variant.cause.upper()})"}
    lenient |= {"fix": right[-1]}
    broken = diagnosis | {"fix": variant.ticket.parts[variant.place]}
    wrong = [
        Wrong({}, caught_by=fits_the_ticket),
        Wrong(good | {"place": "the optimizer"}, caught_by=fits_the_ticket),
        Wrong(good | {"cause": "z"}, caught_by=fits_the_ticket),
        Wrong(good | {"fix": "divide by the whole count"}, caught_by=fits_the_ticket),
        Wrong(good | other_part, caught_by=names_the_place),
        *(Wrong(broken | {"cause": letter}, caught_by=names_the_cause) for letter in tempting),
        Wrong(broken, caught_by=cut_changes_nothing),
        *(Wrong(diagnosis | {"fix": fix}, caught_by=look) for fix, look in wrong_fixes),
    ]
    return Exercise(
        id="08.8",
        name="UNSEEN",
        title=title,
        minutes=10,
        difficulty="a place, a letter, a few lines",
        points=5,
        reads="unseen",
        expects=(dict,),
        hints=(
            "Does the gradient depend on the cut by a factor, by the weights, or by more?",
            "compare_splits(run.step, run.rows[:8], model=run.model) shows both terms together. "
            "Put a part in that drops one of them, and look again.",
            "Take the part that makes what you found. What does each term divide by, and is that "
            "number the same for every micro-batch of the step?",
        ),
        form=fits_the_ticket,
        criteria=(
            Criterion(
                "The place is the part that is at fault.",
                names_the_place,
                why="a mend elsewhere hides the fault, or does nothing",
                next="read the three parts with one question: is this number the whole step's?",
            ),
            Criterion(
                "The cause is named.",
                names_the_cause,
                why="each cause has a mend of its own",
                next="call compare_splits on the run, and on one that has a single term",
            ),
            Criterion(
                "With your part, every cut gives gradient and log of all rows at once.",
                cut_changes_nothing,
                why="the gradient of the step is what is learnt, and the log is what is read",
                next="compare run.gradient of one micro-batch and of eight, in later steps, too",
            ),
            Criterion(
                "Trained on other seeds, every cut gives the same model and the same log.",
                trains_one_model,
                why="rows without a label add nothing to their count; a step may hold no others",
                next="what does your part do where a count of labels is 0?",
            ),
        ),
        right=(*(diagnosis | {"fix": fix} for fix in right[:-1]), lenient),
        wrong=tuple(wrong),
        run=lambda unseen: Tried(unseen, variant),
        case=lambda: variant.ticket,
        time_limit_s=60.0,
    )


DIVIDES = (answers.divides, answers.divides_after_adding, answers.divides_with_a_weight)
WRONG_DIVIDES = (
    (answers.divides_by_its_own, cut_changes_nothing),
    (answers.divides_the_labels_only, cut_changes_nothing),
    (answers.divides_by_g_as_well, cut_changes_nothing),
    (answers.divides_by_both_counts, cut_changes_nothing),
    (answers.divides_without_alpha, cut_changes_nothing),
    (answers.divides_and_undoes_the_teacher, cut_changes_nothing),
    (answers.divides_labels_by_the_teachers, cut_changes_nothing),
    (answers.divides_and_logs_half, cut_changes_nothing),
    (answers.divides_by_nothing, trains_one_model),
)
BOXES = _exercise(
    Variant(unseen_08.boxes_by_the_image(), "divide", "a"),
    "An unseen run: a detector of two minds",
    right=DIVIDES,
    wrong_fixes=WRONG_DIVIDES,
    other_part={"place": "count", "fix": unseen_08.count},
)
TERMS = _exercise(
    Variant(unseen_08.two_denominators(), "divide", "d"),
    "An unseen run: the mixing weight that moves",
    right=DIVIDES,
    wrong_fixes=WRONG_DIVIDES,
    other_part={"place": "log", "fix": unseen_08.log},
)
WIDTH = _exercise(
    Variant(unseen_08.the_width_counted(), "count", "e"),
    "An unseen run: the teacher that fades",
    right=(answers.counts, answers.counts_by_tensors, answers.counts_in_a_loop),
    wrong_fixes=(
        (answers.counts_rows, cut_changes_nothing),
        (answers.counts_places_for_both, cut_changes_nothing),
        (answers.counts_ones, cut_changes_nothing),
        (answers.counts_the_labels_for_both, cut_changes_nothing),
        (answers.counts_none_as_one, trains_one_model),
        (answers.counts_and_sorts, leaves_its_inputs_alone),
    ),
    other_part={"place": "divide", "fix": unseen_08.divide},
)
UNSEEN = replace(BOXES, also=(TERMS, WIDTH))
