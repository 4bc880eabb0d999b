"""Judges one answer entirely inside a box, where the criteria must see live objects.

The right answer is taken out before the student's code runs. Her code shares the process with the
criteria: it can reach no file and nobody else, but it could forge this one verdict.
"""

import contextlib
import gc
import os
import signal
import socket
import sys
import time

from course_utils.box import confine
from course_utils.box.kind import PACKAGE
from course_utils.box.lines import Ended, hear, tell
from course_utils.checks import checking
from course_utils.checks.containment import Tail
from course_utils.checks.declare import Exercise
from course_utils.checks.report import Outcome
from course_utils.grading.judge import lesson_in_box
from course_utils.grading.judge.student import make_shell

MORE_S = 30.0  # beyond the limits that hold inside


def judge(
    exercise: Exercise, cells: list[tuple[bool, str]], cell_s: float, has_walls: bool
) -> dict:
    """The score of one answer.

    Args:
        cells: whether each is the answer's own, and its source.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        if (pid := os.fork()) == 0:
            _inside(theirs, ours, exercise, cells, cell_s, has_walls)
        theirs.close()
        ours.settimeout(cell_s + exercise.time_limit_s + MORE_S)
        try:
            score = _checked(hear(ours)[0])
        except Ended:
            score = _said(Outcome.RAISED, "your code ended its process, or took too long")
        finally:
            _end(pid, has_walls)
    return score


def _end(pid: int, has_walls: bool) -> None:
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGTERM if has_walls else signal.SIGKILL)
        os.waitpid(pid, 0)


def _inside(theirs, ours, exercise, cells, cell_s, has_walls) -> None:
    try:
        ours.close()
        for descriptor in (0, 1, 2):  # stderr is a file that all submissions share
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
        confine.remember_use()
        hidden = (str(PACKAGE / "exercises"),) if has_walls else ()
        confine.confine(confine.Bounds(), walls=has_walls, hidden=hidden)
        _forget_answers(exercise)
        if exercise.case is not None:
            lesson_in_box.CASES[exercise.name] = exercise.case()
        tell(theirs, _score(exercise, cells, cell_s))
    except BaseException as error:
        with contextlib.suppress(BaseException):
            tell(theirs, _said(Outcome.RAISED, f"{type(error).__name__}: {error}"[:300]))
    finally:
        os._exit(0)


def _score(exercise: Exercise, cells: list[tuple[bool, str]], cell_s: float) -> dict:
    shell = make_shell()
    start = time.monotonic()
    with contextlib.redirect_stdout(Tail()), contextlib.redirect_stderr(Tail()):
        for is_answer, source in cells:
            done = shell.run_cell(source, store_history=False)
            error = done.error_before_exec or done.error_in_exec
            if error and is_answer:
                return _said(
                    Outcome.RAISED, f"its answer cell: {type(error).__name__}: {error}"[:300]
                )
    if time.monotonic() - start > cell_s:
        return _said(Outcome.RAISED, f"its answer cell: did not finish within {cell_s:g} s")
    if exercise.reads not in shell.user_ns:
        return _said("not graded", f"its check cell: name {exercise.reads!r} is not defined")
    report = checking.check(exercise, shell.user_ns[exercise.reads], slack=1).to_dict()
    return {name: report[name] for name in ("outcome", "unmet", "details")}


def _forget_answers(exercise: Exercise) -> None:
    """Remove right and wrong answers, and everything that knows them, from this process."""
    sys.modules["course_utils.lesson.handle"] = lesson_in_box
    lesson = exercise.id.partition(".")[0]
    functions = set()
    for variant in exercise.variants:
        answer = variant.answer
        values = answer.values() if isinstance(answer, dict) else (answer,)
        functions |= {id(value) for value in values if callable(value)}
        for name in ("answer", "hints"):
            object.__setattr__(variant, name, ())
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith(f"course_utils.exercises.lesson_{lesson}"):
            for name, value in list(vars(module).items()):
                if id(value) in functions:
                    delattr(module, name)
    gc.collect()


def _checked(data: object) -> dict:
    texts = data if isinstance(data, dict) else {}
    outcome = texts.get("outcome")
    if outcome not in (*Outcome, "not graded"):
        return _said(Outcome.RAISED, "your code ended its process, or took too long")
    lists = {
        name: [str(t)[:500] for t in texts.get(name, ())][:20] for name in ("unmet", "details")
    }
    return {"outcome": str(outcome)} | lists


def _said(outcome: str, *details: str) -> dict:
    return {"outcome": str(outcome), "unmet": [], "details": list(details)}
