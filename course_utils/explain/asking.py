"""Asks rules one after the other: one that raises is our bug, and silences no other."""

import logging
import warnings
from collections.abc import Callable, Iterable

from course_utils.explain.finding import Finding

_LOGGER = logging.getLogger(__name__)


def answers(rules: Iterable[Callable], *given: object) -> list[Finding]:
    """What each rule finds: a Finding, None, or several.

    A rule that raises is logged with its traceback, and warned of in one line.
    """
    found: list[Finding] = []
    for rule in rules:
        try:
            one = rule(*given)
            found += [one] if isinstance(one, Finding) else one or ()
        except Exception:  # a rule reads what nobody has foreseen
            _LOGGER.exception("rule %s", rule.__name__)
            warnings.warn(
                f"the rule {rule.__name__} failed on this log, which is a bug of ours; all other "
                "rules have answered. Please report it with the log.",
                RuntimeWarning,
                stacklevel=2,
            )
    return found
