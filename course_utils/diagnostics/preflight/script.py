"""Starts a training script in a child process that ends where the script would train."""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from course_utils.diagnostics.processes.children import in_own_session, python_command
from course_utils.errors import BadRequest

CHILD = "course_utils.diagnostics.preflight.child"
ANSWER = "answer.json"  # what the child leaves in the folder of its own
QUIET = {"WANDB_MODE": "disabled", "SWANLAB_MODE": "disabled", "COMET_MODE": "DISABLED"}
HOW = "preflight runs the script as `python` does, in one process, until it begins to train"


def preflight_script(
    script: str, arguments: Sequence[str] = (), *, data: Path | None = None
) -> bool:
    """Print the report of a script's first batch; whether nothing was found.

    The script runs until it calls train() or an optimizer makes its first step, and is ended there.

    Args:
        data: where to write the report as JSON, in the form of `course_utils.causes.schema`.

    Raises:
        BadRequest: there is no such file, or the script ended before it trained.
    """
    if not Path(script).is_file():
        raise BadRequest(
            f"there is no file {script!r}",
            why="preflight runs a training script until its first step",
            fix="give the script's path: course preflight train.py -- ARGS",
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = python_command("-m", CHILD, folder, script, *arguments)
        env = {**QUIET, "TMPDIR": folder}  # the child is ended, and cannot clean up
        with in_own_session(command, env=env, stdin=subprocess.DEVNULL) as process:
            process.wait()
        answer = Path(folder, ANSWER)
        said = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {}
    if "healthy" in said:
        if data is not None:
            data.write_text(json.dumps(said["report"], indent=1) + "\n", encoding="utf-8")
        return said["healthy"]
    raise _ended_early(script, said, process.returncode)


def _ended_early(script: str, said: dict, exit_code: int) -> BadRequest:
    """What to tell a user whose script never began to train."""
    if "raised" in said:
        no_gpu = "; there is no GPU here, which may be why" if said["lacks_gpu"] else ""
        other = ", with ARGS that choose what needs no GPU" if said["lacks_gpu"] else ""
        return BadRequest(
            f"{script} raised {said['raised']} before it began to train{no_gpu}",
            why=f"{HOW}; the traceback is above",
            fix=f"make `python {script}` reach its training on this machine{other}",
        )
    if "exited" in said and said["exited"] not in (0, None):
        return BadRequest(
            f"{script} exited with {said['exited']} before it began to train",
            why=f"{HOW}; what it printed is above",
            fix=f"give the arguments that it needs: course preflight {script} -- ARGS",
        )
    if "has_model" in said:
        return BadRequest(
            f"{script} steps an optimizer whose weights are in no model that was called",
            why="a batch is looked at through the model that takes it",
            fix="call the model itself, as in model(**batch), or write diagnose(model, batch=batch,"
            " loss=...) into the script",
        )
    if said:
        return BadRequest(
            f"{script} ended without training: no Trainer.train() and no optimizer step",
            why="there was no batch to look at",
            fix="give the script that calls train(), and the ARGS with which it does",
        )
    return BadRequest(
        f"{script} ended the process itself, with exit code {exit_code}",
        why="it did so before it began to train",
        fix=f"course explain {exit_code}",
    )
