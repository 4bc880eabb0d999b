"""Which exact versions lessons need, and which of the installed packages differ from them."""

import importlib.metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

COURSE = "brokenruns[lab]"  # what lessons and commands need; tests and the site need more


def pins_of(wanted: str, lock: str) -> list[Requirement]:
    """The lines of a lock file that a package or anything below it needs."""
    needed = needed_packages(wanted)
    lines = [Requirement(line) for line in lock.splitlines() if line.strip() and line[0] != "#"]
    return [pin for pin in lines if canonicalize_name(pin.name) in needed]


def differing(pins: list[Requirement]) -> list[str]:
    """A few words for each package that is missing or has another version.

    >>> differing([Requirement("no-such-package==2")])
    ['no-such-package is missing, not 2']
    """
    installed = {
        canonicalize_name(found.name): Version(found.version).public  # "2.13.0+cpu" is 2.13.0
        for found in importlib.metadata.distributions()
    }
    wrong = []
    for pin in pins:
        version = installed.get(canonicalize_name(pin.name))
        if version is None or not pin.specifier.contains(version, prereleases=True):
            wrong.append(f"{pin.name} is {version or 'missing'}, not {str(pin.specifier)[2:]}")
    return wrong


def needed_packages(wanted: str) -> set[str]:
    """A package, what it needs, and what that needs in turn, as the installed ones declare it.

    >>> "jinja2" in needed_packages("torch")
    True
    """
    seen, left = set(), [Requirement(wanted)]
    while left:
        requirement = left.pop()
        for extra in {"", *requirement.extras}:
            part = (canonicalize_name(requirement.name), extra)
            if part not in seen:
                seen.add(part)
                left += [each for each in _requirements(part[0]) if _holds(each, extra)]
    return {name for name, _ in seen}


def _requirements(name: str) -> list[Requirement]:
    try:
        return [Requirement(line) for line in importlib.metadata.requires(name) or ()]
    except importlib.metadata.PackageNotFoundError:
        return []


def _holds(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})
