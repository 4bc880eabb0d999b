"""Whether the run's packages are older than those in which the looks were seen to run."""

import importlib.metadata
import re
import sys

from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

# The oldest in which they ran. torch's is pyproject.toml's; the others are used where they are.
FLOORS = {"torch": (2, 6), "transformers": (4, 46), "trl": (0, 15), "peft": (0, 13)}


def look_at_versions(_subject: Subject, sheet: Sheet) -> None:
    """Write down each package that this process has imported in an older version."""
    for name in FLOORS.keys() & sys.modules.keys():
        version = importlib.metadata.version(name)
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < FLOORS[name]:
            oldest = ".".join(map(str, FLOORS[name]))
            why = f"it is {version}, and the looks were seen to run from {oldest} on"
            sheet.miss(f"all of {name}", why)
