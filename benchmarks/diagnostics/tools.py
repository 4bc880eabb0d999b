"""One run under one tool: the causes it named in order, its output, its cost.

Each run happens in a separate process, forked before anything was trained, so that a run that
dies takes nothing with it.
"""

import contextlib
import io
import os
import pickle
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.looks.log import answer_of
from course_utils.incidents.declare import Run

LIMIT_S = 240
PARTS = (  # of a run, which a user of `diagnose` would hand over
    *("optimizer", "batch", "loss", "tokenizer", "sampler", "reference", "served"),
    *("processes", "settings"),
)


@dataclass
class Outcome:
    """A tool's outcome on a run."""

    keys: list[str] = field(default_factory=list)  # causes, the likeliest first
    text: str = ""
    cpu_s: float = 0.0  # of the run itself
    extra_s: float = 0.0  # what the tool took besides
    num_steps: int = 0
    log: list[dict] = field(default_factory=list)
    found: dict = field(default_factory=dict)  # the tool's report as data, where it is kept
    ended: str = ""  # an error, a signal, or ""


def in_child(make: Callable[[], Run], tool: Callable[[Run], Outcome]) -> Outcome:
    """The tool's outcome on a run that is made and started in a forked process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(LIMIT_S)
        try:
            outcome = _silently(lambda: tool(make()))
        except BaseException as error:  # the child must answer, whatever happens
            outcome = Outcome(ended=f"{type(error).__name__}: {error}"[:2000])
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(outcome, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if not data:
        return Outcome(ended=f"signal {os.WTERMSIG(status)}")
    return pickle.loads(data)


def _silently(function: Callable[[], Outcome]) -> Outcome:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return function()


def _start(run: Run) -> tuple[str, float]:
    """Start the run; returns the error that ended it, and its CPU seconds."""
    began, error = time.process_time(), ""
    try:
        run.start()
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    return error, time.process_time() - began


def _log_of(run: Run) -> list[dict]:
    own = run.trainer.state.log_history if run.trainer is not None else []
    return list(run.log or own)


def by_diagnose(run: Run) -> Outcome:
    """Ride along, as a user would: on the Trainer, or on the model with the loop's parts."""
    began, error, in_run = time.process_time(), "", 0.0
    parts = {name: run.parts[name] for name in PARTS if name in run.parts}
    if run.trainer is None:
        parts["log"] = run.log
    with contextlib.suppress(Exception):
        ride = diagnose.watching(run.trainer or run.model, probe_rewards=True, **parts)
        try:
            with ride:
                started = time.process_time()
                try:
                    run.start()
                finally:
                    in_run = time.process_time() - started
                with contextlib.suppress(Exception):
                    run.facts()  # what people do next: they generate, and see that it is wrong
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        report = ride.report
        total = time.process_time() - began
        return Outcome(
            keys=[one.key for one in report.causes],
            text=str(report),
            cpu_s=in_run,
            extra_s=total - in_run,
            num_steps=ride.num_steps,
            log=_log_of(run),
            ended=error,
        )
    return Outcome(ended="diagnose itself failed")


def by_nothing(run: Run) -> Outcome:
    """The bare run: its log names nothing. `explain` reads what it left."""
    error, cpu_s = _start(run)
    return Outcome(cpu_s=cpu_s, log=_log_of(run), ended=error)


def only_its_log(of: Outcome) -> Outcome:
    """The log of a bare run, from one that `diagnose` watched without changing anything."""
    return Outcome(log=of.log, ended=of.ended)


def by_anomaly(run: Run) -> Outcome:
    with torch.autograd.set_detect_anomaly(True):
        error, cpu_s = _start(run)
    keys = ["nan_gradient"] if "returned nan values" in error else []
    return Outcome(keys=keys, text=error, cpu_s=cpu_s, ended=error)


def by_underflow(run: Run) -> Outcome:
    """transformers' DebugUnderflowOverflow, which ends the run where a number is not finite."""
    from transformers.debug_utils import DebugUnderflowOverflow

    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        try:
            DebugUnderflowOverflow(run.model)
        except Exception as raised:
            return Outcome(ended=f"it raised {type(raised).__name__}")
        error, cpu_s = _start(run)
    found = "inf/nan" in error or "Detected inf" in heard.getvalue()
    keys = ["operation_not_finite"] if found else []
    return Outcome(keys=keys, text=heard.getvalue()[-5000:], cpu_s=cpu_s, ended=error)


def explained(bare: Outcome) -> Outcome:
    """`course explain` on the log that a bare run exported, and on its last error."""
    began = time.process_time()
    answer = answer_of(bare.log)
    keys = [one.key for one in answer.causes]
    text = str(answer)
    if bare.ended:
        from course_utils.explain import explain

        of_error = explain([bare.ended, ""])
        keys = [one.key for one in of_error.causes] + keys
        text = f"{of_error}\n{text}"
    return Outcome(keys=keys, text=text, extra_s=time.process_time() - began)
