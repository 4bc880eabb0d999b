"""Ask one tool about one case: `python -m ...yardstick.adapters TOOL FOLDER`."""

import contextlib
import io
import json
import sys
from pathlib import Path

from benchmarks.diagnostics.yardstick.adapters import log_readers, ours, riders, traincheck

TOOLS = {
    "diagnose": ours.diagnose,
    "explain": ours.explain,
    "runmedic": log_readers.runmedic,
    "losslint": log_readers.losslint,
    "rldoctor": log_readers.rldoctor,
    "rlwatch": log_readers.rlwatch,
    "rlprobe": riders.rlprobe,
    "guardtower": riders.guardtower,
    "peft-doctor": riders.peft_doctor,
    "post-training-toolkit": riders.post_training_toolkit,
    "traincheck": traincheck.traincheck,
}


def main() -> None:
    tool, folder = sys.argv[1], Path(sys.argv[2])
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        answer = TOOLS[tool](folder)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
