"""The installed versions of the libraries, and which of them made a look fail."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from traceback import walk_tb

from course_utils.errors import Unreadable

# The name of each package, as its users write it.
NAMES = {
    "trl": "TRL",
    "peft": "PEFT",
    "transformers": "transformers",
    "accelerate": "accelerate",
    "torch": "torch",
}
DIAGNOSTICS = str(Path(__file__).parents[1])


@cache
def installed(package: str) -> str:
    """Name and version, such as "TRL 0.24"; the name alone where no version is known."""
    return f"{NAMES[package]} {'.'.join(map(str, version_of(package)))}".strip()


def version_of(package: str) -> tuple[int, ...]:
    """Major and minor; () where no version is known."""
    try:
        parts = metadata.version(package).split(".")[:2]
    except metadata.PackageNotFoundError:
        return ()
    return tuple(int(part) for part in parts if part.isdigit())


def unreadable(package: str, what: str, why: str) -> Unreadable:
    """The error for what the installed version does not let an instrument see."""
    return Unreadable(installed(package), what, why=why)


def at_fault(error: Exception) -> str:
    """The library, with its version, that lacks what an instrument asked of it; "" if none does."""
    if isinstance(error, Unreadable):
        return error.library
    if not _was_asked_here(error):
        return ""
    if isinstance(error, ImportError):
        found = (error.name or "").partition(".")[0]
        return installed(found) if found in NAMES else ""
    if not isinstance(error, AttributeError):
        return ""
    asked = error.obj if isinstance(error.obj, type) else type(error.obj)
    homes = [base.__module__.partition(".")[0] for base in asked.__mro__]
    if asked.__module__ == "builtins":  # a module of a library
        homes = [getattr(error.obj, "__name__", "").partition(".")[0]]
    found = next((home for home in homes if home in NAMES), "")
    is_users = homes[0] not in NAMES and found == "torch"  # a module that lacks what it never had
    return installed(found) if found and not is_users else ""


def _was_asked_here(error: Exception) -> bool:
    """Whether an instrument's own line failed, and not code that it called."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    while len(frames) > 1 and frames[-1].f_code.co_name == "__getattr__":
        frames.pop()
    return bool(frames) and frames[-1].f_code.co_filename.startswith(DIAGNOSTICS)


def how_many(libraries: Iterable[str]) -> tuple[str, ...]:
    """For each library how many looks cannot read it.

    >>> how_many(["TRL 0.24", "TRL 0.24"])
    ('TRL 0.24: 2 looks cannot read it, see "not seen"',)
    """
    counts = Counter(libraries)
    return tuple(
        f'{name}: {count} look{"s" if count > 1 else ""} cannot read it, see "not seen"'
        for name, count in counts.items()
    )
