"""A classifier with one output under argmax, whose evaluations are all the same."""

from collections.abc import Iterator

from course_utils.explain.deciding.one_output import lines_of_one_output
from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log, finite

SURE, FEWEST = 9.0, 2  # evaluations


def one_column(beside: Beside, log: Log) -> Iterator[Finding]:
    """`num_labels=1`, argmax of its output, and an accuracy that never moves."""
    found, hits = lines_of_one_output(beside), finite(log.values("eval_accuracy"))
    if not found or len(hits) < FEWEST or len(set(hits)) > 1:
        return
    proof = (f"eval_accuracy {hits[0]:g} in all {len(hits)} evaluations",)
    yield Finding("one_class", SURE, found[1], proof)  # what it says is decided by those lines
