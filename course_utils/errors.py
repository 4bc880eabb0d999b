"""Every error this course raises on purpose.

CourseError          base class: what was seen, why it matters, what to do
  BadNotebook        a notebook that cannot be read, built, run or graded
  BadRequest         a lesson, exercise, parameter or option that does not exist
  NotPassed          a check that did not pass, with STRICT=True
  DidNotFail         a failure that a lesson expected and that did not happen
  NotSaved           a file that could not be written; what was there before still is
  ModelUnavailable   a model that cannot be loaded
  ShapeMismatch      tensors whose shapes do not belong together
  IndexUnreachable   old versions are needed, and no package index answers
  Unsupported        something this machine or platform cannot do
    Unreadable       an installed library that an instrument cannot read
  FigureFault        a figure in which something cannot be read
  TrainingStopped    the guard ended a run that had become non-finite
  GraderFailed       the grader broke, not the submission; another try may succeed
"""


class CourseError(Exception):
    """Base class. The message says what was seen, why it matters, and what to do.

    >>> print(CourseError("lesson 9 does not exist", why="there are two", fix="try 03"))
    lesson 9 does not exist
      why: there are two
      fix: try 03
    """

    def __init__(self, saw: str, *, why: str, fix: str) -> None:
        super().__init__(f"{saw}\n  why: {why}\n  fix: {fix}")
        self.saw, self.why, self.fix = saw, why, fix


class BadNotebook(CourseError):
    """A notebook that cannot be read, built, run or graded."""


class BadRequest(CourseError):
    """A lesson, exercise, parameter or option that does not exist."""


class NotPassed(CourseError):
    """A check that did not pass while STRICT is True."""


class DidNotFail(CourseError):
    """A failure that a lesson expected and that did not happen."""


class NotSaved(CourseError):
    """A file that could not be written; what was there before still is."""


class ModelUnavailable(CourseError):
    """A model that cannot be loaded."""


class ShapeMismatch(CourseError):
    """Tensors whose shapes do not belong together."""


class IndexUnreachable(CourseError):
    """Old versions are needed, and no package index answers. `saw` says all of it alone."""


class Unsupported(CourseError):
    """Something this machine or platform cannot do."""


class Unreadable(Unsupported):
    """An installed `library` that an instrument cannot read: in this version it has other parts."""

    def __init__(self, library: str, what: str, *, why: str) -> None:
        fix = "go on without this number, or use a version of the library in which it was seen"
        super().__init__(f"{library}: {what}", why=why, fix=fix)
        self.library = library

    @property
    def sentence(self) -> str:
        """What could not be looked at, and why."""
        return f"{self.saw}, because {self.why}"


class TrainingStopped(CourseError):
    """The guard ended a run that had become non-finite."""


class GraderFailed(CourseError):
    """The grader broke, not the submission; another try may succeed."""


class FigureFault(CourseError):
    """A figure in which something cannot be read."""
