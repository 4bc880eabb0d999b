"""Replaces `lesson.handle` inside the box: the same handles, without any answers."""

import os

from course_utils.checks.declare import TODO

__all__ = ["TODO", "start"]

NOT_HERE = "The judge says what came of it; nothing is decided here."


def start(name: str, *, strict: bool = False) -> "LessonHandle":
    """Begin a lesson."""
    return LessonHandle()


class LessonHandle:
    """Every attribute is an exercise or a prediction."""

    def __getattr__(self, name: str) -> "Handle":
        if name.startswith("_"):
            raise AttributeError(name)
        return Handle(name)

    def progress(self) -> None:
        print(NOT_HERE)

    resume = progress


class Handle:
    """An exercise, a prediction or the claims: every use of it says that it is not here."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def answer(self) -> object:
        """The notebook's own value; there is no other in the box."""
        from IPython import get_ipython

        return get_ipython().user_ns.get(READS.get(self._name, ""), TODO)

    def draw(self, _seed: int = 0) -> object:
        """The broken run that the judge has drawn and sent."""
        return CASES.get(self._name)

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: print(NOT_HERE)


# What each exercise calls its answer: "MEAN=mean_of,...".
READS = dict(pair.split("=") for pair in os.environ.get("COURSE_READS", "").split(",") if pair)
# What exercises hand to the reader, by attribute: "UNSEEN".
CASES: dict[str, object] = {}
