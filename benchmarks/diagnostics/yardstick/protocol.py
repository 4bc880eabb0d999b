"""How a tool is asked about a case, and how it answers: `PROTOCOL`, which stands on the page."""

import contextlib
import json
import os
import resource
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from course_utils.errors import CourseError

ROOT = Path(__file__).parents[3]
VERSION = 1
LIMIT_S = 600.0
MOST_NAMES = 3
PROTOCOL = f"""\
The command is started once for each case, in an empty folder. It gets

* on stdin: the log as somebody would paste it (what the libraries said on the console, the \
entries as JSON lines, the last error);
* as its last argument: a folder with `log.txt` (the same text), `trainer_state.json` and \
`entries.jsonl` (the entries alone) and, where the case is a run that can be started, `run.py` and \
`reference.py`. `python run.py` trains; `make()` in it returns the run before it starts: `.model`, \
`.trainer` (None in a loop of its own), `.parts` (`optimizer`, `batch`, `loss`, `tokenizer`, ...) \
and `.start()`. `reference.py` is the same for a healthy run with another seed, for tools that \
learn from one. Nothing in the folder tells what is wrong.

It answers with one JSON object as the last line of stdout, and exit code 0:

    {{"alarm": true, "causes": [{{"text": "no reward differs", "names": ["no_signal"]}}]}}
    {{"alarm": false}}
    {{"skipped": "reads GRPO logs alone"}}

`alarm`: whether the tool says that something is wrong. `causes`: what is wrong, the likeliest \
first. `text` is the tool's own sentence. `names` (at most {MOST_NAMES} a cause) are what is \
scored: a key of `course_utils.causes.CAUSES`, a kind of `course_utils.causes.kinds.CLASSES`, or a \
class of the corpus. A tool that only alarms leaves `causes` out. `skipped`: the tool is not made \
for such input; the case counts as not detected and is counted in a column of its own. A name may \
be added to the answer, and changes nothing. This is version {VERSION} (`YARDSTICK_PROTOCOL` in \
the environment); a change of meaning raises it."""


class ToolFailed(CourseError):
    """A command that does not exist, does not end, or does not answer by the protocol."""


@dataclass(frozen=True)
class Answer:
    """A tool's answer to one case."""

    alarm: bool = False
    causes: list[dict] = field(default_factory=list)  # {"text": ..., "names": [...]}
    skipped: str = ""
    cpu_s: float = 0.0

    def as_json(self) -> dict:
        """Without what is empty."""
        return {name: value for name, value in asdict(self).items() if value or name == "alarm"}


def ask(
    command: Sequence[str] | str,
    files: Callable[[Path], str],
    *,
    limit_s: float = LIMIT_S,
) -> Answer:
    """Start the command on one case.

    Args:
        command: as in a shell, or its words.
        files: writes the case into a folder, and returns the text for stdin.

    Raises:
        ToolFailed: it does not exist, ends with an error or without JSON, or takes too long.
    """
    words = shlex.split(command) if isinstance(command, str) else list(command)
    with tempfile.TemporaryDirectory() as folder:
        case, inside = Path(folder, "case"), Path(folder, "empty")
        case.mkdir()
        inside.mkdir()
        pasted, began = files(case), _cpu_of_children()
        code, out, err = _run([*words, str(case)], pasted, inside, limit_s)
        cpu_s = _cpu_of_children() - began
    if code:
        last = (err.strip() or out.strip() or "nothing").splitlines()[-1][:200]
        raise _failed(words, f"ended with exit code {code}; its last line: {last}")
    return parse(out, words, cpu_s)


def parse(out: str, words: Sequence[str], cpu_s: float = 0.0) -> Answer:
    """The answer in a tool's output."""
    lines = out.strip().splitlines() or [""]
    try:
        said = json.loads(lines[-1])
        causes = [
            {"text": str(one.get("text", ""))[:300], "names": list(one.get("names", []))}
            for one in said.get("causes", [])
        ]
        skipped = str(said.get("skipped", ""))
        alarm = False if skipped else said["alarm"]
    except (ValueError, AttributeError, TypeError, KeyError):
        raise _failed(
            words, f"did not print its answer as JSON, but: {lines[-1][:200]!r}"
        ) from None
    if not isinstance(alarm, bool):
        raise _failed(words, f"gave {alarm!r} for `alarm`, which is true or false")
    if any(len(one["names"]) > MOST_NAMES for one in causes):
        raise _failed(words, f"gave more than {MOST_NAMES} names for one cause")
    return Answer(alarm, causes, skipped, round(cpu_s, 2))


def _run(words: list[str], pasted: str, inside: Path, limit_s: float) -> tuple[int, str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "YARDSTICK_PROTOCOL": str(VERSION),
    }
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        ran = subprocess.Popen(
            words, cwd=inside, env=env, text=True, start_new_session=True, **pipes
        )
    except OSError as error:
        raise _failed(words, f"cannot be started: {error.strerror}") from None
    try:
        out, err = ran.communicate(pasted, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise _failed(words, f"did not end within {limit_s:g} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):  # what it started may go on without it
            os.killpg(ran.pid, signal.SIGKILL)
        ran.communicate()
    return ran.returncode, out, err


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _failed(words: Sequence[str], what: str) -> ToolFailed:
    return ToolFailed(
        f"The command `{shlex.join(words)}` {what}.",
        why="a tool is scored by its answers, one JSON object a case",
        fix="python -m benchmarks.diagnostics.yardstick --help says what it must print",
    )
