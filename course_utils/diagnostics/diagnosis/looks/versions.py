"""Whether the run's packages are older than those in which the looks were seen to run."""

import sys

from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.libraries.versions import installed, version_of

# The oldest in which they ran. torch's is pyproject.toml's; the others are used where they are.
FLOORS = {"torch": (2, 6), "transformers": (4, 46), "trl": (0, 15), "peft": (0, 13)}


def look_at_versions(_subject: Subject, sheet: Sheet) -> None:
    """Write down each package that this process has imported in an older version."""
    for name in FLOORS.keys() & sys.modules.keys():
        version = version_of(name)
        if version and version < FLOORS[name]:
            oldest = ".".join(map(str, FLOORS[name]))
            why = f"{installed(name)} is here, and the looks were seen to run from {oldest} on"
            sheet.miss(f"all of {name}", why)
