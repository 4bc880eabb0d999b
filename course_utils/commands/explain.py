"""`course explain`: what a log, a trainer_state.json, a message or an exit code points to."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from course_utils.errors import BadRequest, Unsupported
from course_utils.explain import Answer, explain_entries
from course_utils.explain import explain as explain_lines
from course_utils.explain.entries import Entry, entries_of_row

# Read where it is installed; nothing else of the course needs it.
EVENTS = "tensorboard.backend.event_processing.event_accumulator"


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("source", default="-")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def explain(source: str, as_json: bool) -> None:
    """Explain a log: SOURCE is a file, a folder of TensorBoard's, an exit code, or - for what you
    paste (end with Ctrl-D).

    Reads the lines of Transformers, TRL, verl, OpenRLHF, LLaMA-Factory, ms-swift and unsloth,
    tables, CSV, JSON lines and trainer_state.json. Nothing leaves this machine.
    """
    answer = _answer(source)
    print(json.dumps(answer.to_dict(), indent=1) if as_json else answer)


def _answer(source: str) -> Answer:
    path = Path(source)
    if source == "-":
        return explain_lines(sys.stdin)
    if path.is_dir():
        state = path / "trainer_state.json"
        if not state.exists():
            return _answer_of_tensorboard(path)
        path = state
    if path.is_file():
        with path.open(encoding="utf-8", errors="replace") as file:
            return explain_lines(file)
    if source.lstrip("-").isdigit():
        return explain_lines(source)
    raise BadRequest(
        f"there is no file {source!r}",
        why="a log is read from a file, a folder, or what you paste",
        fix="give the file's path, or run `course explain -`, paste, and end with Ctrl-D",
    )


def _answer_of_tensorboard(folder: Path) -> Answer:
    try:
        reader = importlib.import_module(EVENTS)
    except ImportError as error:
        raise Unsupported(
            f"{folder} is read by TensorBoard's own library, which is not installed",
            why="its event files are protocol buffers",
            fix="pip install tensorboard, or give a trainer_state.json",
        ) from error
    events = reader.EventAccumulator(str(folder))
    events.Reload()
    rows: dict[int, dict[str, float]] = {}
    for tag in events.Tags().get("scalars", []):
        for event in events.Scalars(tag):
            rows.setdefault(event.step, {"step": event.step})[tag] = event.value
    if not rows:
        raise BadRequest(
            f"{folder} holds no scalars of TensorBoard and no trainer_state.json",
            why="there is nothing to explain in it",
            fix="give the folder that holds the events.out.tfevents files",
        )
    return explain_entries(_entries(rows), len(rows))


def _entries(rows: dict[int, dict[str, float]]) -> Iterator[Entry]:
    for step in sorted(rows):
        yield from entries_of_row(f"step {step}", json.dumps(rows[step]), rows[step].items())
