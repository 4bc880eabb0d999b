"""What a notebook holds in its hand: `ex = lesson.start("03")`, then `ex.NAME.check(answer)`.

Connects the exercises to the screen and to the progress file; decides nothing about answers.
"""

import inspect
import os

from IPython.display import display

from course_utils import checking
from course_utils.errors import BadRequest, DidNotFail, NotPassed
from course_utils.exercises import find_lesson
from course_utils.exercises.declare import TODO, Exercise, Lesson, Prediction
from course_utils.progress import Progress, default_path
from course_utils.quiet import quiet_libraries
from course_utils.report import Table

__all__ = ["TODO", "start"]

GRADING_ENV = "COURSE_GRADING"  # a secret of one grading run, see course_utils.commands.grade
GRADING_MIME = "application/vnd.course.check+json"


def start(name: str, *, strict: bool = False) -> "LessonHandle":
    """Begin a lesson: quiet libraries, one thread, and its exercises as attributes.

    Args:
        name: number or file stem of the lesson.
        strict: raise NotPassed at any check that is not passed, for papermill and CI.
    """
    quiet_libraries()
    return LessonHandle(find_lesson(name), strict=strict)


class _Frozen:
    """Attributes are set once, so that a slip such as `ex.DECODE = ...` cannot hide a check."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__ or not name.startswith("_"):
            raise AttributeError(f"{name} belongs to the lesson; give your answer another name")
        self.__dict__[name] = value


class LessonHandle(_Frozen):
    """The exercises and predictions of one lesson, as attributes that tab completion lists."""

    def __init__(self, lesson: Lesson, *, strict: bool) -> None:
        self._lesson = lesson
        self._progress = Progress(default_path())
        for exercise in lesson.exercises:
            self.__dict__[exercise.name] = ExerciseHandle(exercise, self._progress, strict=strict)
        for prediction in lesson.predictions:
            self.__dict__[prediction.name] = PredictionHandle(prediction, self._progress)

    def __dir__(self) -> list[str]:
        items = (*self._lesson.predictions, *self._lesson.exercises)
        return [*(item.name for item in items), "progress"]

    def __repr__(self) -> str:
        lesson = self._lesson
        names = ", ".join(exercise.name for exercise in lesson.exercises)
        return f"Lesson {lesson.number}, {lesson.points} points in {names}"

    def progress(self) -> Table:
        """Where you stand, as a table."""
        return progress_table([self._lesson], self._progress)


class ExerciseHandle(_Frozen):
    """One exercise: `.check(answer)`, `.hint()`, `.solution()`, `.answer`."""

    def __init__(self, exercise: Exercise, progress: Progress, *, strict: bool) -> None:
        self._exercise, self._progress, self._strict = exercise, progress, strict
        self._passed: list[object] = []  # the student's answer, once it has passed

    def __dir__(self) -> list[str]:
        return ["answer", "check", "hint", "solution"]

    def __repr__(self) -> str:
        return f"{self._exercise.id} {self._exercise.title}: .check(answer), .hint(), .solution()"

    def check(self, answer: object) -> None:
        """Run every criterion on your answer and show what is right, what is not, and why."""
        report = checking.check(self._exercise, answer)
        self._progress.record_check(
            self._exercise.id, outcome=str(report.outcome), points=report.points
        )
        self._passed[:] = [answer] if report.outcome is checking.Outcome.PASSED else []
        display(report)
        if secret := os.environ.get(GRADING_ENV):
            display({GRADING_MIME: report.to_dict() | {"secret": secret}}, raw=True)
        if self._strict and not self._passed:
            raise NotPassed(
                report.headline,
                why="STRICT is True, so every check must pass",
                fix="correct the answer, or run with STRICT=False",
            )

    def hint(self) -> None:
        """Show the next hint; each call goes one further, from a question to nearly the answer."""
        hints = self._exercise.hints
        if self._progress.exercise(self._exercise.id)["hints"] < len(hints):
            number = self._progress.take_hint(self._exercise.id)
        else:
            number = len(hints)
        print(f"Hint {number} of {len(hints)}: {hints[number - 1]}")
        if number == len(hints):
            print(f"That was the last one; ex.{self._exercise.name}.solution() is open now.")

    def solution(self) -> None:
        """Show a right answer, once you have passed or have taken every hint."""
        known = self._progress.exercise(self._exercise.id)
        left = len(self._exercise.hints) - known["hints"]
        if known["best"] == 0 and left > 0:
            print(f"The solution opens when you pass, or after {left} more: call .hint()")
            return
        answer = self._exercise.right[0]
        print(
            inspect.getsource(answer)
            if callable(answer)
            else f"{self._exercise.reads} = {answer!r}"
        )

    @property
    def answer(self) -> object:
        """Your answer if it passed in this session, else the course's, so that no cell is stuck."""
        if self._passed:
            return self._passed[0]
        print(f"{self._exercise.id} is not passed yet: from here on the course's answer is used.")
        return self._exercise.right[0]


class PredictionHandle(_Frozen):
    """One question to answer before you run: `.predict("a")`, later `.recall()`."""

    def __init__(self, prediction: Prediction, progress: Progress) -> None:
        self._prediction, self._progress = prediction, progress

    def __dir__(self) -> list[str]:
        return ["predict", "recall"]

    def __repr__(self) -> str:
        return f"{self._prediction.question} Choose with .predict(letter)."

    def predict(self, choice: object) -> None:
        """Store your choice. No choice is wrong here; it is shown back when the data is in."""
        letter, choices = str(choice).strip().lower(), self._prediction.choices
        print(self._prediction.question)
        for key, text in choices.items():
            print(f"  {'>' if key == letter else ' '} {key}) {text}")
        if letter in choices:
            self._progress.record_prediction(self._prediction.id, letter)
        elif letter != "todo":
            raise BadRequest(
                f"{choice!r} is not one of the choices",
                why="your prediction is shown back later",
                fix=f"give one of {', '.join(choices)}",
            )
        else:
            print("No prediction yet: put a letter in place of TODO before you go on.")

    def recall(self, shown: str, *, holds: bool) -> None:
        """Show what you predicted beside what the data shows.

        Args:
            shown: the letter that the data speaks for.
            holds: whether it does, computed from the data.

        Raises:
            DidNotFail: `holds` is false.
        """
        prediction, choices = self._prediction, self._prediction.choices
        if not holds:
            raise DidNotFail(
                f"{prediction.id}: {shown}) {choices[shown]!r} is not what this run shows",
                why="the answer to a prediction rests on what the cells compute",
                fix="look at the values above; run `course doctor` if you changed nothing",
            )
        letter = self._progress.prediction(prediction.id)
        print(prediction.question)
        print(f"You predicted {letter}) {choices[letter]}" if letter else "You made no prediction.")
        print("That is what was seen." if letter == shown else f"Seen: {shown}) {choices[shown]}")


def progress_table(lessons: list[Lesson], progress: Progress) -> Table:
    """Every exercise of `lessons` with its outcome and points, and the total."""
    rows = []
    for lesson in lessons:
        for exercise in lesson.exercises:
            known = progress.exercise(exercise.id)
            points = f"{known['best']} of {exercise.points}"
            hints = f"{known['hints']} of {len(exercise.hints)}"
            minutes = f"{exercise.minutes} min, {exercise.difficulty}"
            rows.append((exercise.id, exercise.title, minutes, known["outcome"], points, hints))
    earned = sum(progress.exercise(e.id)["best"] for x in lessons for e in x.exercises)
    total = f"{earned} of {sum(lesson.points for lesson in lessons)} points"
    columns = ("exercise", "title", "effort", "outcome", "points", "hints")
    return Table(columns=columns, rows=rows, notes=(total,))
