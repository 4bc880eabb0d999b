"""Executes one notebook with papermill in a separate process, and reports each step.

Reads one line of JSON from stdin and writes lines of JSON to stdout: ["cell", n] when cell n
starts, ["problem", n, name, message] when it fails, ["complete"] after the last cell. When stdin
is closed it ends with its kernel and keeps the partial notebook; so it never outlives the process
that started it.
"""

import json
import logging
import os
import signal
import sys
import threading

import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.engines import NBClientEngine, papermill_engines

from course_utils.notebook.execute import INTERRUPTED, KERNEL_DIED, TIME_LIMIT
from course_utils.notebook.warm import KERNEL

SAVED_EVERY_S = 5


class SeldomSaved(NBClientEngine):
    """papermill's own engine saves, and validates, the whole notebook twice for each cell."""

    @classmethod
    def execute_managed_notebook(cls, nb_man, *arguments: object, **options: object) -> None:
        save = nb_man.save

        def save_if_due(**given: object) -> None:
            if (nb_man.now() - nb_man.last_save_time).total_seconds() > SAVED_EVERY_S:
                save(**given)

        nb_man.save = save_if_due
        try:
            super().execute_managed_notebook(nb_man, *arguments, **options)
        finally:
            del nb_man.save  # when it ends, however it ends, it is saved


papermill_engines.register(SeldomSaved.__name__, SeldomSaved)


def main() -> None:
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_interrupt_when_stdin_closes, daemon=True).start()
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever the kernel prints past IPython must not mix with the events
    logging.disable(logging.CRITICAL)  # every failure is reported as an event
    current = 0

    def emit(*event: object) -> None:
        events.write(f"{json.dumps(event)}\n")
        events.flush()

    def on_cell_start(*, cell: dict, cell_index: int) -> None:
        nonlocal current
        current = cell_index + 1
        emit("cell", current)

    def on_cell_error(*, cell: dict, cell_index: int, execute_reply: dict) -> None:
        content = execute_reply["content"]
        emit("problem", cell_index + 1, content["ename"], content["evalue"])

    try:
        _execute(request, on_cell_start, on_cell_error)
        emit("complete")
    except papermill.PapermillExecutionError:  # on_cell_error has reported it
        if request["allow_errors"]:
            emit("complete")
    except DeadKernelError:
        emit("problem", current, KERNEL_DIED, "")
    except CellTimeoutError:
        emit("problem", current, TIME_LIMIT, "and did not react to an interruption")
    except KeyboardInterrupt:
        emit("problem", current, INTERRUPTED, "")
    except Exception as error:  # a full disk, no kernel: reported, and shown by the parent
        emit("problem", current, type(error).__name__, str(error))


def _execute(request: dict, on_cell_start, on_cell_error) -> None:
    papermill.execute_notebook(
        request["source"],
        request["target"],
        parameters=request["parameters"],
        cwd=request["folder"],
        kernel_name=KERNEL["name"],
        engine_name=SeldomSaved.__name__,
        progress_bar=False,
        execution_timeout=request["cell_s"],
        interrupt_on_timeout=True,
        error_on_timeout={"ename": TIME_LIMIT, "evalue": "", "traceback": []},
        allow_errors=request["allow_errors"],
        on_cell_start=on_cell_start,
        on_cell_error=on_cell_error,
    )


def _interrupt_when_stdin_closes() -> None:
    # os.read and not sys.stdin: its lock would abort the interpreter at exit.
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main()
