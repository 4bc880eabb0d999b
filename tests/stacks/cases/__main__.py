"""Runs the cases with this Python: `python -m cases [--json] [WORD ...]`.

With WORDs, only cases that have one of them in their names. It exits with 1 where an answer is
wrong or a case crashed.
"""

import argparse
import contextlib
import io
import json
import logging
import os
import signal
import sys
import tempfile
import traceback
import warnings
from dataclasses import asdict, dataclass, field

ALONE = {
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "ACCELERATE_MIXED_PRECISION": "no",
}
os.environ.update(ALONE)  # before a library reads it

from . import all_cases  # noqa: E402
from .case import Case, has  # noqa: E402

LIMIT_S = 300
OPTIONAL = ("dill", "psutil", "matplotlib", "IPython", "packaging", "transformers")


@dataclass(frozen=True)
class Outcome:
    """What came of one case: right, wrong, crashed, or cannot: it says what is to be installed."""

    case: str
    kind: str
    expected: str
    seen: str
    unseen: dict[str, str] = field(default_factory=dict)


def outcome_of(case: Case) -> Outcome:
    """Run one case, silently and with a time limit."""
    silent = io.StringIO()
    signal.alarm(LIMIT_S)
    try:
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            found = case.run()
    except Exception as error:
        seen = f"{type(error).__name__}: {error}"
        kind = "cannot" if says_what_to_install(str(error)) else "crashed"
        at = "" if kind == "cannot" else f" ({_place(error)})"
        return Outcome(str(case), kind, case.expected.says, seen + at)
    finally:
        signal.alarm(0)
    kind = "right" if case.expected.holds(found.causes) else "wrong"
    seen = ", ".join(found.causes) or "no cause"
    return Outcome(str(case), kind, case.expected.says, seen, found.unseen)


def says_what_to_install(message: str) -> bool:
    """Whether an error names a package that is not here, and says to install it."""
    missing = [package for package in OPTIONAL if not has(package)]
    return "install" in message and any(package in message for package in missing)


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "course_utils" in frame.filename] or frames
    return f"{own[-1].filename.rpartition('course_utils/')[2]}:{own[-1].lineno}"


def _stop(*_) -> None:
    raise TimeoutError(f"longer than {LIMIT_S} s")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cases")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each outcome")
    asked = parser.parse_args()
    signal.signal(signal.SIGALRM, _stop)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    counts = dict.fromkeys(("right", "wrong", "crashed", "cannot"), 0)
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # the folders of all runs go with it
        for case in all_cases():
            if asked.words and not any(word in str(case) for word in asked.words):
                continue
            outcome = outcome_of(case)
            counts[outcome.kind] += 1
            if asked.json:
                print(json.dumps(asdict(outcome)), flush=True)
            elif outcome.kind != "right":
                print(f"{outcome.kind}: {outcome.case}\n  expected {outcome.expected}")
                print(f"  seen {outcome.seen}", flush=True)
    if not asked.json:
        print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return int(bool(counts["wrong"] or counts["crashed"]))


if __name__ == "__main__":
    sys.exit(main())
