"""Edits that people try in place of a fix; each is refused, whatever else an answer says."""

from course_utils.oncall.attacks import CALL, GIVE_BASE

# A good log is written by hand, and nothing is trained.
TWINS_LOG = (
    "train.py",
    CALL,
    f"LOG = [{{'step': n, 'loss': 2.0 / n}} for n in range(1, 41)]\nif True:\n{GIVE_BASE}",
)
