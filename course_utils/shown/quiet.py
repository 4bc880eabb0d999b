"""Makes a kernel repeatable: one thread, no progress bars, and warnings as stable lines.

The one place where transformers, trl, peft, datasets and tqdm are turned down. What is proven to
be noise is silenced by name, with the reason; every other warning is shown, because in a course
on debugging a warning is a clue.
"""

import logging
import os
import sys
import warnings

from course_utils.shown.wrap import wrapped

# One OpenMP thread: on a busy two-core machine two threads made tiny steps up to 70 times slower.
THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

# Bars, telemetry and advice about downloads: nothing in them is about the run.
SILENCE = {
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TQDM_DISABLE": "1",
    "TRL_EXPERIMENTAL_SILENCE": "1",
}

LIBRARIES = ("transformers", "trl", "peft", "accelerate", "datasets", "torch")
CONTINUED = "  | "  # a warning's further lines

# (what the message holds, why it is noise)
NOISE = (
    # trl 1.16 and our reproductions use old names of transformers 5.23
    "gradient_checkpointing` is deprecated",
    "gradient_checkpointing_disable` is deprecated",
    "gradient_checkpointing_enable` is deprecated",
    "gradient_checkpointing_kwargs` is deprecated",
    # tqdm asks for widgets that would draw its bars, and those are silenced
    "IProgress not found",
    # a coloured table with a path in it; a new `score` is what each reward-model lesson says itself
    "LOAD REPORT",
    # the machine has no accelerator, which no lesson needs
    "'pin_memory' argument is set as true but no accelerator is found",
)


def quiet_libraries() -> None:
    """Pin one thread, silence bars, show warnings as lines. Call it before torch is imported."""
    os.environ.update(THREADS | SILENCE)
    warnings.showwarning = _show_warning
    for name in LIBRARIES:
        logger = logging.getLogger(name)
        logger.handlers[:] = [_OneLine()]
        logger.addHandler = lambda handler: None  # the library's own would write to stderr
        logger.setLevel(logging.WARNING)
        logger.propagate = False


def quiet_trainers() -> None:
    """Remove the live table and the printed log dictionaries of every Trainer made from now on.

    Both hold timings and unrounded floats. The log itself stays in `trainer.state.log_history`;
    how far a run is stands on the cell's own line while it runs.
    """
    from transformers import trainer  # takes seconds, and only lessons that train need it

    from course_utils.shown.progress_line import steps_callback  # needs transformers as well

    # A Trainer takes the second one where its settings say disable_tqdm, as the course's do.
    trainer.DEFAULT_PROGRESS_CALLBACK = trainer.PrinterCallback = steps_callback()


def is_noise(message: str) -> bool:
    """Whether a warning is one of those proven to say nothing about the run."""
    return any(part in message for part in NOISE)


def is_a_warning(line: str) -> bool:
    """Whether a printed line is (part of) a library's warning as it is shown here.

    >>> is_a_warning("peft warns: no such layer"), is_a_warning("it warns: no")
    (True, False)
    """
    return line.startswith((*(f"{name} warns: " for name in (*LIBRARIES, "Python")), CONTINUED))


class _OneLine(logging.Handler):
    """Prints a library's warning once per kernel: only its words, without times and paths."""

    def emit(self, record: logging.LogRecord) -> None:
        _print_once(record.name.partition(".")[0], record.getMessage())


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    library = next((name for name in LIBRARIES if f"/{name}/" in filename), "Python")
    _print_once(library, str(message))


def _print_once(library: str, message: str) -> None:
    first = message.strip().splitlines()[0] if message.strip() else ""
    if is_noise(message) or (library, first) in _SEEN:
        return
    _SEEN.add((library, first))
    print(wrapped(f"{library} warns: {first}", hang=CONTINUED), file=sys.stdout)


_SEEN: set[tuple[str, str]] = set()
