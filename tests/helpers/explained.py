"""What `explain` says of a log that a test gives line by line."""

from course_utils.explain import explain
from course_utils.explain.answer import Answer
from course_utils.explain.finding import Finding


def answer(*lines: str) -> Answer:
    return explain("\n".join([*lines, ""]))


def first(*lines: str) -> Finding | None:
    """The first cause, if one is named."""
    return next(iter(answer(*lines).causes), None)


def keys(*lines: str) -> list[str]:
    """The keys of all causes, in their order."""
    return [one.key for one in answer(*lines).causes]


def key(*lines: str) -> str:
    """The key of the first cause, or ""."""
    return next(iter(keys(*lines)), "")
