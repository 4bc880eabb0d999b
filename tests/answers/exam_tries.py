"""Edits that people try in place of a mend; each is refused, whatever else an answer says."""

from course_utils.oncall.attacks import CALL, GIVE_BASE

# Whatever is raised is swallowed, and something is exported.
CATCH = ("train.py", CALL, f"LOG = []\ntry:\n    main()\nexcept Exception:\n{GIVE_BASE}")
ENDS_AT_ONCE = ("train.py", CALL, "raise SystemExit(0)\n")
ALL_LINES = " ".join(map(str, range(1, 120)))


def naming(good: dict, *fault: str) -> dict:
    """A good answer that names another place or class."""
    return good | {"faults": [fault]}
