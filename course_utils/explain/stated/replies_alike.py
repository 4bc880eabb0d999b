"""Groups whose replies are all one, where no entry of a log stands beside the requests."""

from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.rules.cached_replies import answered_by_a_cache
from course_utils.explain.rules.one_seed import one_seed_for_all


def replies_alike(beside: Beside, log: Log) -> Iterator[Finding]:
    """What these rules of a log find in lines alone."""
    if log.entries:
        return
    for rule in (one_seed_for_all, answered_by_a_cache):
        if found := rule(log, beside):
            yield found
