"""The object that a notebook uses: `ex = lesson.start("03")`, then `ex.NAME.check(answer)`.

Connects the exercises to the screen and to the progress file; decides nothing about answers.
"""

import inspect
import os

from IPython.display import display

from course_utils.checks import checking
from course_utils.checks.declare import PARTS, TODO, Exercise, Lesson, total_of
from course_utils.checks.report import Outcome
from course_utils.errors import BadRequest, NotPassed
from course_utils.exercises import find_lesson
from course_utils.files.progress import Progress, default_path
from course_utils.lesson.frozen import Frozen
from course_utils.lesson.passed_answers import PassedAnswers
from course_utils.lesson.prediction import PredictionHandle
from course_utils.lesson.short_tracebacks import stop_briefly
from course_utils.lesson.votes import Verdicts
from course_utils.shown.quiet import quiet_libraries
from course_utils.shown.report import Table
from course_utils.shown.wrap import say, wrapped

__all__ = ["TODO", "start"]

GRADING_ENV = "COURSE_GRADING"  # a secret of one grading run, see course_utils.commands.grade
GRADING_MIME = "application/vnd.course.check+json"


def start(name: str, *, strict: bool = False) -> "LessonHandle":
    """Begin a lesson: quiet libraries, one thread, short stops, its exercises as attributes.

    Args:
        name: number or file stem of the lesson.
        strict: raise NotPassed at any check that is not passed, for papermill and CI.
    """
    quiet_libraries()
    stop_briefly()
    return LessonHandle(find_lesson(name), strict=strict)


class LessonHandle(Frozen):
    """The exercises and predictions of one lesson, as attributes that tab completion lists."""

    def __init__(self, lesson: Lesson, *, strict: bool) -> None:
        self._lesson = lesson
        self._progress = Progress(default_path())
        for exercise in lesson.exercises:
            self.__dict__[exercise.name] = ExerciseHandle(exercise, self._progress, strict=strict)
        for prediction in lesson.predictions:
            self.__dict__[prediction.name] = PredictionHandle(
                prediction, self._progress, strict=strict
            )
        if lesson.topic:
            self.__dict__["verdicts"] = Verdicts(lesson.topic, self._progress, strict=strict)

    def __dir__(self) -> list[str]:
        items = (*self._lesson.predictions, *self._lesson.exercises)
        verdicts = ["verdicts"] if self._lesson.topic else []
        return [*(item.name for item in items), "progress", "resume", *verdicts]

    def __repr__(self) -> str:
        lesson = self._lesson
        names = ", ".join(exercise.name for exercise in lesson.exercises)
        return wrapped(f"Lesson {lesson.number}, {lesson.points} points in {names}")

    def progress(self) -> Table:
        """Where you stand, as a table."""
        return progress_table([self._lesson], self._progress)

    def resume(self) -> None:
        """After a restart: execute every passed answer again, and say where to go on."""
        handles = [self.__dict__[exercise.name] for exercise in self._lesson.exercises]
        missing = [handle.title for handle in handles if not handle.restore() and handle.is_passed]
        left = [handle.title for handle in handles if not handle.is_passed]
        if not left:
            again = f"run the cells of {', '.join(missing)} again" if missing else "that is all"
            say(f"All of lesson {self._lesson.number} is passed; {again}.")
            return
        say(
            f"Go on at exercise {left[0]}. Click in its answer cell and choose Run > Run All Above "
            "Selected Cell: it needs what these cells define. A TODO above takes nothing away."
        )


class ExerciseHandle(Frozen):
    """One exercise: `.check(answer)`, `.hint()`, `.solution()`, `.answer`, and `.draw(seed)`."""

    def __init__(self, exercise: Exercise, progress: Progress, *, strict: bool) -> None:
        self._declared, self._progress, self._strict = exercise, progress, strict
        self._answers = PassedAnswers(progress)

    def __dir__(self) -> list[str]:
        draw = ["draw"] if self._declared.case else []
        return ["answer", "check", "hint", "solution", *draw]

    def __repr__(self) -> str:
        return f"{self.title}: .check(answer), .hint(), .solution()"

    @property
    def title(self) -> str:
        return f"{self._declared.id} {self._declared.title}"

    @property
    def is_passed(self) -> bool:
        return self._answers.is_passed(self._declared)

    @property
    def _exercise(self) -> Exercise:
        """The variant that was drawn last."""
        return self._declared.variant(self._progress.draw(self._declared.id))

    def draw(self, seed: int) -> object:
        """The case of one of this exercise's variants, such as a broken run; the seed decides.

        Raises:
            BadRequest: this exercise has no cases.
        """
        if self._declared.case is None:
            raise BadRequest(
                f"{self.title} has no cases to draw",
                why="everybody works on the same one",
                fix="call .check(answer)",
            )
        self._progress.record_draw(self._declared.id, int(seed))
        return self._exercise.case()

    def check(self, answer: object) -> None:
        """Run every criterion on your answer and show what is right, what is not, and why."""
        report = checking.check(self._exercise, answer)
        self._progress.record_check(
            self._exercise.id, outcome=str(report.outcome), points=report.points
        )
        passed = report.outcome is Outcome.PASSED
        if passed:
            self._answers.keep(self._exercise, answer)
        display(report)
        if report.outcome is Outcome.NOT_ATTEMPTED and self.is_passed:
            say("You have passed this exercise before; its points stay.")
        if secret := os.environ.get(GRADING_ENV):
            display({GRADING_MIME: report.to_dict() | {"secret": secret}}, raw=True)
        if self._strict and not passed:
            raise NotPassed(
                report.headline,
                why="STRICT is True, so every check must pass",
                fix="correct the answer, or run with STRICT=False",
            )

    def hint(self) -> None:
        """Show the next hint; each call goes one further, from a question to nearly the answer."""
        hints, known = self._exercise.hints, self._progress.exercise(self._exercise.id)
        is_left = known["hints"] < len(hints)
        number = self._progress.take_hint(self._exercise.id) if is_left else len(hints)
        say(f"Hint {number} of {len(hints)}: {hints[number - 1]}")
        if number == len(hints):
            print(f"That was the last one; ex.{self._exercise.name}.solution() is open now.")

    def solution(self) -> None:
        """Show a right answer, once you have passed or taken every hint."""
        known = self._progress.exercise(self._exercise.id)
        left = len(self._exercise.hints) - known["hints"]
        if known["best"] == 0 and left > 0:
            print(f"The solution opens when you pass, or after {left} more: call .hint()")
            return
        print(_source_text(self._exercise.reads, self._exercise.answer))

    @property
    def answer(self) -> object:
        """Your answer that passed last, else the course's, so that no cell is stuck.

        After a restart it is made again from its kept source and checked again.
        """
        return self._answers.answer(self._exercise)

    def restore(self) -> bool:
        """Execute an answer that passed before a restart again; returns whether it is here now."""
        return self._answers.restore(self._exercise)


def _source_text(name: str, answer: object) -> str:
    """An answer as a reader would type it: a function's source, or a dict after its functions."""
    if callable(answer):
        return inspect.getsource(answer)
    if not isinstance(answer, dict):
        return f"{name} = {answer!r}"
    functions = [inspect.getsource(value) for value in answer.values() if inspect.isfunction(value)]
    items = (
        f"{key!r}: {value.__name__ if inspect.isfunction(value) else repr(value)}"
        for key, value in answer.items()
    )
    return "\n\n".join([*functions, f"{name} = {{{', '.join(items)}}}"])


def progress_table(lessons: list[Lesson], progress: Progress) -> Table:
    """Every exercise of `lessons` with its outcome and points, and the total."""
    rows = []
    for lesson in lessons:
        for exercise in lesson.exercises:
            known = progress.exercise(exercise.id)
            points = f"{known['best']} of {exercise.points}"
            hints = f"{known['hints']} of {len(exercise.hints)}"
            deeper = f", {PARTS[1]}" if exercise.id in lesson.deeper else ""
            minutes = f"{exercise.minutes} min, {exercise.difficulty}{deeper}"
            rows.append((exercise.id, exercise.title, minutes, known["outcome"], points, hints))
    scores = (
        (lesson.part(exercise.id), progress.exercise(exercise.id)["best"], exercise.points)
        for lesson in lessons
        for exercise in lesson.exercises
    )
    columns = ("exercise", "title", "effort", "outcome", "points", "hints")
    return Table(columns=columns, rows=rows, notes=(total_of(scores),))
