"""`course explain`: what a log, a trainer_state.json, a message or an exit code points to.

`python -m course_utils.explain` is the same command; both need the standard library alone.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from course_utils.errors import BadRequest, Unsupported
from course_utils.explain import Answer, explain_entries
from course_utils.explain import explain as explain_lines
from course_utils.explain.paste.entries import Entry, entries_of_row
from course_utils.shown.ending import plain_ending

# Read where it is installed; nothing else of the course needs it.
EVENTS = "tensorboard.backend.event_processing.event_accumulator"
READS = """\
Reads the lines of Transformers, TRL, verl, OpenRLHF, LLaMA-Factory, ms-swift and unsloth,
tables, CSV, JSON lines and trainer_state.json. Nothing leaves this machine.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what SOURCE points to; `arguments` are those of the command line by default.

    Ends with 1 where nothing in SOURCE was read, and with 2 where there is no such file.
    """
    parser = argparse.ArgumentParser(
        "course explain",
        description="Explain a log: what it shows, and the causes that this points to.",
        epilog=READS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    source = "a file, a folder of TensorBoard's, an exit code, or - for what you paste (Ctrl-D)"
    parser.add_argument("source", metavar="SOURCE", nargs="?", default="-", help=source)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--all", action="store_true", help="print every cause, not the first alone")
    form.add_argument("--json", action="store_true", help="print all of it as JSON")
    options = parser.parse_args(arguments)
    with plain_ending():
        answer = _answer(options.source)
        if options.json:
            print(json.dumps(answer.to_dict(), indent=1))
        else:
            print(answer.in_full() if options.all else answer)
    if answer.read_nothing:
        sys.exit(1)


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


if __name__ == "__main__":
    main()
