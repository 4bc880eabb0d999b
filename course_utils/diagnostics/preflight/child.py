"""Runs in the child: a script until it would train, then the looks, then nothing more.

`python -m ....child FOLDER SCRIPT ARGS` writes into FOLDER how it ended.
"""

import json
import os
import re
import runpy
import sys
import traceback
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from torch import nn

from course_utils.diagnostics.preflight.beginnings import stop_at_training
from course_utils.diagnostics.preflight.script import ANSWER
from course_utils.diagnostics.preflight.stand_ins import OnCpu, has_gpu, replace_settings

NO_STEP = "no step was taken; {} rides along with the real run"
OF_A_GPU = re.compile(r"cuda|gpu|nvidia|nccl|vllm|flash|bitsandbytes|deepspeed|triton", re.I)


def main(folder: str, script: str, *arguments: str) -> NoReturn:
    answer, cpu = Path(folder, ANSWER), None if has_gpu() else OnCpu()
    replace_settings(Path(folder, "output"), cpu)
    stop_at_training(partial(_look, answer, cpu))
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    with ExitStack() as stack:
        if cpu is not None:
            stack.enter_context(cpu)
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as stop:
            _end(answer, exited=stop.code)
        except BaseException as error:
            _print_from(script, error)
            lacks_gpu = cpu is not None and OF_A_GPU.search(f"{type(error).__name__} {error}")
            _end(answer, raised=type(error).__name__, lacks_gpu=bool(lacks_gpu))
    _end(answer, exited=0)


def _look(answer: Path, cpu: OnCpu | None, source: Any, **parts: Any) -> NoReturn:
    """Print what `diagnose` finds, and end the process: nothing of the script runs any more."""
    from course_utils.diagnostics.diagnosis import diagnose
    from course_utils.diagnostics.diagnosis.report.layout import MORE
    from course_utils.shown.wrap import wrapped

    if source is None:
        _end(answer, has_model=False)
    asked, is_loop = ", ".join(cpu.asked) if cpu else "", isinstance(source, nn.Module)
    try:
        counted = _gradients(source) if is_loop else ()
        report = diagnose(source, **parts)
    except BaseException as error:  # a defect of ours, which the script must not catch
        traceback.print_exc()
        _end(answer, raised=f"{type(error).__name__} in the looks", lacks_gpu=False)
    rider = "diagnose.watching(model, ...)" if is_loop else "DiagnoseCallback"
    unseen = {**report.unseen, "the run": NO_STEP.format(rider)}
    if asked:
        unseen["a GPU"] = f"there is none here; the script asked for {asked} and got the CPU"
    told = replace(report, unseen=unseen, rows=(*report.rows, *counted))
    print(str(told).removesuffix(f"\n{MORE}"))  # nobody has the report once this process ends
    for name in ("the run", "a GPU")[: 1 + bool(asked)]:
        print(wrapped(f"{name}: {unseen[name]}"))
    _end(answer, healthy=not report.causes, report=told.to_dict())


def _gradients(model: nn.Module) -> tuple[str]:
    """How many gradients the loop's own backward pass has left, before the looks add any."""
    named = [name for name, p in model.named_parameters() if p.requires_grad]
    without = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
    first = f"; the first that has none is {without[0]}" if without else ""
    count = f"{len(named) - len(without)} of {len(named)} trainable tensors have one"
    return (f"Gradients at the first step: {count}{first}",)


def _end(answer: Path, **said: Any) -> NoReturn:
    """Leave at once: `finally` and exit handlers of the script might save something."""
    answer.write_text(json.dumps(said, default=str), encoding="utf-8")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _print_from(script: str, error: BaseException) -> None:
    """The traceback as `python script` prints it, without the frames that started the script."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != script:
        trace = trace.tb_next
    traceback.print_exception(error.with_traceback(trace))


if __name__ == "__main__":
    main(*sys.argv[1:])
