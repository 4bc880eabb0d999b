"""The answers that passed: those of this kernel, and those executed again from their source.

Says what it does in one line each time. Never changes an outcome or points.
"""

from IPython import get_ipython

from course_utils.checks import checking
from course_utils.checks.declare import TODO, Exercise
from course_utils.checks.report import Outcome
from course_utils.files.progress import Progress
from course_utils.lesson import answer_source
from course_utils.shown.wrap import say


class PassedAnswers:
    """Passed answers by exercise; the variants of one exercise are kept apart."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._here: dict[tuple[str, str], object] = {}  # what passed in this kernel, or was remade

    def keep(self, exercise: Exercise, answer: object) -> None:
        """Remember an answer that has just passed, and its source if it has one."""
        self._here[_key(exercise)] = answer
        if answer is exercise.answer and not answer_source.is_literal(answer):
            return  # its source is `ex.NAME.answer`, which would ask for itself after a restart
        if source := answer_source.source_of(exercise.reads, answer):
            self._progress.keep_source(exercise.id, exercise.title, source)

    def is_passed(self, exercise: Exercise) -> bool:
        return self._progress.exercise(exercise.id)["outcome"] == Outcome.PASSED

    def answer(self, exercise: Exercise) -> object:
        """The answer that passed last, else the course's, so that no cell is stuck."""
        is_here, is_passed = _key(exercise) in self._here, self.is_passed(exercise)
        called = f"{exercise.id} {exercise.title}"
        if is_here and not is_passed:
            say(
                f"{called}: this kernel has an answer of yours that passed, and the progress file "
                "does not know of it. It is used; check it again to get its points."
            )
        elif not is_here and not is_passed:
            say(f"{called}: not passed yet, so the course's answer is used from here on.")
        elif not is_here:
            self.restore(exercise)
        return self._here.get(_key(exercise), exercise.answer)

    def restore(self, exercise: Exercise) -> bool:
        """Execute an answer that passed before a restart again; returns whether it is here now."""
        if _key(exercise) in self._here:
            return True
        if not self.is_passed(exercise):
            return False
        called = f"{exercise.id} {exercise.title}"
        if why := self._fails_to_restore(exercise):
            say(
                f"{called}: {why}. The course's answer is used until you run your cell and its "
                "check again; your points stay."
            )
            return False
        say(f"{called}: your answer was made again from its source, and passes.")
        return True

    def _fails_to_restore(self, exercise: Exercise) -> str | None:
        before = "you passed it before this kernel started, but"
        sources = self._progress.sources(exercise.id)
        if exercise.title not in sources:
            passed = ", ".join(sources)
            return f"you passed {passed}, not this one" if sources else f"{before} {NOT_KEPT}"
        source = sources[exercise.title]
        try:
            answer = answer_source.made_again(source, exercise.reads, exercise.id)
        except Exception as error:
            return f"{before} running its kept source raised {type(error).__name__}: {error}"
        report = checking.check(exercise, answer)
        if report.outcome is not Outcome.PASSED:
            seen = f" ({report.details[0]})" if report.details else ""
            return f"{before} its kept source was checked again: {report.outcome}{seen}"
        self._here[_key(exercise)] = answer
        _name_again(exercise.reads, answer)
        return None


NOT_KEPT = "its source was not kept"


def _key(exercise: Exercise) -> tuple[str, str]:
    return exercise.id, exercise.title


def _name_again(name: str, answer: object) -> None:
    """Give the notebook its name for the answer back, unless the name is in use by now."""
    shell = get_ipython()
    if shell is not None and shell.user_ns.get(name, TODO) is TODO:
        shell.user_ns[name] = answer
