"""The judging process: runs criteria, asks workers for values, executes no student code.

It is forked from a warm one for each submission, so that nothing it does lasts.
"""

import contextlib
import gc
import os
import signal
import socket
import sys
from dataclasses import replace

from course_utils.box import confine, zygote
from course_utils.box.kind import WITHIN_ENV
from course_utils.box.lines import hear, tell
from course_utils.checks import checking
from course_utils.checks.containment import AnswerEnded, Tail
from course_utils.checks.declare import TODO, Exercise, Lesson
from course_utils.checks.report import CheckReport, Outcome
from course_utils.checks.time_limit import TimeLimitReached, time_limit
from course_utils.exercises import find_lesson
from course_utils.grading.judge import cell_dependencies, judged_in_box, student, verdict_cache
from course_utils.grading.judge.drawn_variant import drawn
from course_utils.grading.judge.isolation import in_fork
from course_utils.grading.judge.jobs import Jobs
from course_utils.grading.judge.judging_mode import BELIEVED, DATA, INSIDE, how
from course_utils.grading.judge.remote import Worker
from course_utils.grading.judge.source_review import reaches_for
from course_utils.grading.judge.wire import BadMessage
from course_utils.reproductions.lesson_02.unseen_02 import Job
from course_utils.shown.quiet import quiet_libraries

NOT_GRADED = "not graded"
NO_PROCESSES = "the box lets no cell start a process; write the answer out, or use --no-sandbox"
REVIEW = (
    "its verdict rests on what its own process says, and its code has {found}; "
    "write it without that, or have it looked at"
)
TOO_DEEP = "your answer is nested too deeply to be read; write it in more, shorter steps"
MORE_S = 30.0
PATIENCE = 4  # asking another process takes longer than a call, and a grader is busy
# It trains with an answer's settings, so it is bounded, too.
BOUNDS = confine.Bounds(memory_mib=3072, cpu_s=1800, disk_mib=512, num_files=512)


class Judge:
    """One submission.

    Args:
        grader: the socket to the process that asked, which hands out workers.
    """

    def __init__(self, grader: socket.socket, lesson: Lesson, request: dict) -> None:
        self._grader, self._lesson = grader, lesson
        self._cells, self._cell_s = request["cells"], request["cell_s"]
        self._has_walls = request["walls"]
        self._reads = {exercise.name: exercise.reads for exercise in lesson.exercises}

    def go_through(self, wanted: list[str]) -> None:
        """Judge the wanted exercises, and send each score as soon as it is known."""
        for exercise in self._lesson.exercises:
            if exercise.id in wanted:
                told = {"exercise": exercise.id, "whole": False}
                tell(self._grader, {"score": told | self._best(exercise)})
        tell(self._grader, {"done": True})

    def _best(self, declared: Exercise) -> dict:
        """The score for the run that was drawn; if that is unknown, the best over all runs."""
        numbers = drawn(self._cells, declared.id, declared.name, len(declared.variants))
        scores = []
        for number in numbers:
            scores.append(self._apart(declared.variant(number)))
            if scores[-1]["outcome"] in (str(Outcome.PASSED), str(Outcome.NOT_ATTEMPTED)):
                return scores[-1]
        return scores[0]

    def _apart(self, exercise: Exercise) -> dict:
        """The score, made in a fork: changes of the criteria's tensors end with it."""
        limit_s = 3 * self._cell_s + 2 * PATIENCE * exercise.time_limit_s + MORE_S
        for _ in range(2):  # the first may have met a machine without memory
            score = in_fork(lambda: self._readable(exercise), limit_s)
            if isinstance(score, dict):
                return score
        return _said(Outcome.RAISED, score)

    def _readable(self, exercise: Exercise) -> dict:
        """The score; or the answer's own fault, where it is too deep for whoever reads it here."""
        try:
            return self._score(exercise)
        except RecursionError:
            return _said(Outcome.RAISED, TOO_DEEP)

    def _score(self, exercise: Exercise) -> dict:
        """The score, and as `whole` whether every cell above the check was run for it."""
        if not any(cell_dependencies.is_answer(cell, exercise.id) for cell in self._cells):
            return _said(NOT_GRADED, "its answer cell is missing")
        patience_s = min(self._cell_s, PATIENCE * exercise.time_limit_s)
        limit_s = max(exercise.time_limit_s, patience_s)
        exercise = replace(exercise, time_limit_s=limit_s)
        is_literal, value = cell_dependencies.literal(self._cells, exercise.id, exercise.reads)
        if is_literal:
            return self._verdict(exercise, value)
        units = cell_dependencies.needed(self._cells, exercise.id, self._reads, exercise.reads)
        score, names_missing = self._try(exercise, units)
        if names_missing:
            score, _ = self._try(exercise, cell_dependencies.everything(self._cells, exercise.id))
        return score | {"whole": names_missing}

    def _try(self, exercise: Exercise, units: list[cell_dependencies.Unit]) -> tuple[dict, bool]:
        """Judge in a new worker; also says whether a name was missing that a cell might define."""
        is_inside = how(exercise).startswith(INSIDE)
        is_reviewed = is_inside or exercise.id in BELIEVED
        theirs = [unit.source for unit in units if not unit.is_own]
        if is_reviewed and (found := reaches_for(theirs)):
            return _said(NOT_GRADED, REVIEW.format(found=found)), False
        if is_inside:
            sources = [(self._must_run(unit, units, exercise), unit.source) for unit in units]
            score = judged_in_box.judge(exercise, sources, self._cell_s, self._has_walls)
        else:
            score = self._by_proxy(exercise, units)
        return score, "NameError" in " ".join(score["details"])

    def _must_run(
        self, unit: cell_dependencies.Unit, units: list[cell_dependencies.Unit], exercise: Exercise
    ) -> bool:
        """Whether it is the answer, and no later cell of the student gives another one."""
        later = (u for u in units if u.cell > unit.cell and not u.is_own)
        is_answer = cell_dependencies.is_answer(self._cells[unit.cell], exercise.id)
        return is_answer and not any(exercise.reads in other.surely_binds for other in later)

    def _by_proxy(self, exercise: Exercise, units: list[cell_dependencies.Unit]) -> dict:
        names = cell_dependencies.identifiers(self._cells, exercise.reads)
        with self._worker(names) as worker, contextlib.ExitStack() as stack:
            try:
                if exercise.case is not None:
                    self._hand_over(worker, exercise, stack)
                if problem := self._run(worker, exercise, units):
                    is_refused = NO_PROCESSES in problem
                    return _said(NOT_GRADED if is_refused else Outcome.RAISED, problem)
                with time_limit(self._cell_s):
                    is_there, answer = worker.answer(exercise.reads)
            except TimeLimitReached:
                limit = f"did not finish within {self._cell_s:g} s"
                return _said(Outcome.RAISED, f"its answer cell: {limit}")
            except (AnswerEnded, BadMessage) as error:
                return _said(Outcome.RAISED, f"its answer cell: {error}")
            if not is_there:
                return _said(
                    NOT_GRADED, f"its check cell: NameError: name {exercise.reads!r} is not defined"
                )
            if how(exercise) == DATA and callable(answer):
                answer = TODO if answer is TODO else answer
            return self._verdict(exercise, answer)

    def _verdict(self, exercise: Exercise, answer: object) -> dict:
        return verdict_cache.made_once(
            exercise,
            answer,
            lambda: _score_of(checking.check(exercise, answer, slack=1)),
            is_kept=self._has_walls,
        )

    def _hand_over(self, worker: Worker, exercise: Exercise, stack: contextlib.ExitStack) -> None:
        case, jobs = exercise.case(), None
        if self._has_walls and isinstance(case, Job):
            jobs = stack.enter_context(Jobs(case))
        worker.hand_over(exercise.name, case, jobs)

    def _run(
        self, worker: Worker, exercise: Exercise, units: list[cell_dependencies.Unit]
    ) -> str | None:
        """Run the cells; returns the problem of the answer itself, if there is one.

        A cell above it may fail without harm; where the answer fails too, the first is named.
        """
        above = ""
        for unit in units:
            with time_limit(self._cell_s):
                [error] = worker.run([unit.source])
            if error is None:
                continue
            is_process = error["type"] == "PermissionError" and "[Errno 1]" in error["text"]
            said = NO_PROCESSES if is_process else f"{error['type']}: {error['text']}"[:300]
            if self._must_run(unit, units, exercise):
                return f"its answer cell: {said}{above}"
            above = above or f" (first, cell {unit.cell + 1}: {said})"
        return None

    @contextlib.contextmanager
    def _worker(self, names: frozenset[str]):
        tell(self._grader, {"worker": True})
        data, descriptors = hear(self._grader)
        student = socket.socket(fileno=descriptors[0])
        try:
            yield Worker(student, names)
        finally:
            student.close()
            tell(self._grader, {"end": data["worker"]})


def _said(outcome: str, *details: str) -> dict:
    return {"outcome": str(outcome), "unmet": [], "details": list(details)}


def _score_of(report: CheckReport) -> dict:
    data = report.to_dict()
    kind, plain = f"Your code raised {BadMessage.__name__}:", "What your code gave cannot be read:"
    details = [line.replace(kind, plain) for line in data["details"]]
    return {"outcome": data["outcome"], "unmet": data["unmet"], "details": details}


def warm_up(lesson: Lesson) -> None:
    """Import and compute once what the checks of training answers need."""
    for exercise in lesson.exercises:
        for variant in exercise.variants:
            if variant.run or variant.case or how(exercise).startswith(INSIDE):
                answer = variant.answer if variant.warm is None else variant.warm
                report = checking.check(variant, answer, slack=1)
                verdict_cache.remember(variant, answer, _score_of(report))
    student.warm_up()


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    lesson = find_lesson(sys.argv[3])
    if sys.argv[2] == "1":
        os.environ[WITHIN_ENV] = "1"
    quiet_libraries()
    warm_up(lesson)
    gc.collect()
    gc.freeze()

    def child(request: dict, sockets: list[socket.socket]) -> None:
        [grader] = sockets
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)  # stdout is a file that all submissions share
        sys.stdout = sys.stderr = Tail()
        confine.remember_use()
        confine.set_limits(BOUNDS)
        job, _ = hear(grader)
        Judge(grader, lesson, job).go_through(job["exercises"])

    zygote.serve(control, child, end=signal.SIGKILL)


if __name__ == "__main__":
    os.environ.setdefault("COURSE_PROGRESS", os.path.expanduser("~/progress.json"))
    main()
