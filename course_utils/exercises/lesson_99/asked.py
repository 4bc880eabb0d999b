"""The questions that every ticket of the exam asks: the form of an answer, and five criteria.

What needs no training is looked at first.
"""

from course_utils.checks.declare import Criterion, Exercise, not_tested
from course_utils.exercises.lesson_99 import tries
from course_utils.oncall.answer_form import form_of
from course_utils.oncall.exam import TASKS
from course_utils.oncall.hand_in import Tried, tried

NOT_TRAINED = not_tested("a criterion above is not met")


def fits(tried: Tried) -> str | None:
    return tried.misfit or None


def keeps_its_size(tried: Tried) -> str | None:
    if tried.mended is None:
        return not_tested("the edits do not fit")
    return "; ".join(tried.refusals) or None


def names_the_places(tried: Tried) -> str | None:
    judged = tried.reported
    if judged.problem:
        return judged.problem
    if judged.places < judged.num_faults:
        return f"{judged.places} of {judged.num_faults} places are right"
    return None


def names_the_classes(tried: Tried) -> str | None:
    judged = tried.reported
    if judged.classes < judged.num_faults:
        return f"{judged.classes} of {judged.num_faults} classes are right"
    return None


def is_healthy(tried: Tried) -> str | None:
    if tried.misfit or tried.refusals:
        return NOT_TRAINED
    return "; ".join(tried.verdicts[-1].problems) or None


CRITERIA = (
    Criterion(
        "Every edit fits the files as they were handed out, and something changes.",
        fits,
        why="whoever grades this has the ticket and your edits, but not your folder",
        next="let answer_text(...) print the answer from your folder, and paste it",
    ),
    Criterion(
        "The run is as large as it was: steps, batches, model, rows.",
        keeps_its_size,
        why="a larger run hides a fault, and a smaller one hides whether anything was learned",
        next="put that back as it was, and fix what made you change it",
    ),
    Criterion(
        "The report names the place.",
        names_the_places,
        why="the next person on call reads the report, and looks there first",
        next="give a line's number of the files as handed out, or a function, a name or a key",
    ),
    Criterion(
        "The report names the class.",
        names_the_classes,
        why="a team that counts its classes knows what to guard against",
        next="ask which number is wrong first, not what looks odd at the end",
    ),
    Criterion(
        "The fixed run is healthy on seeds, data and checkpoints that it has not seen.",
        is_healthy,
        why="a fix that works on one seed may be luck",
        next="read the run after your fix as a new ticket: what is still not as it should be?",
    ),
)


def exercise(task: str, *, hints: tuple[str, ...], answer: dict, **named) -> Exercise:
    """The exercise on one ticket; `named` is what else an Exercise has."""
    num_faults = len(TASKS[task].declared.faults)
    has_the_form = form_of(num_faults)
    return Exercise(
        expects=(dict,),
        hints=hints,
        form=has_the_form,
        criteria=CRITERIA,
        answer=answer,
        run=lambda given: tried(task, given),
        warm=answer | {"edits": [tries.TWINS_LOG]},
        time_limit_s=240.0,
        **named,
    )
