"""Pairs of sentences that contradict each other, in a report of `diagnose`."""

import re
from collections.abc import Iterator

from course_utils.diagnostics.diagnosis.report.report import Diagnosis

PAIRS = (  # what one sentence says, and what no other may say beside it
    (r"does not move\b|weights stay where they are", r"weights that move: (100|9\d(\.\d+)?)% in"),
    (r"no weight is damaged", r"weight tensors end with nan or inf"),
    (r"losses, gradients, weights: finite", r"gradient is nan|gave nan|end with nan or inf"),
    (r"load the weights in float32", r"weights: \w+, float32(,|$)"),
    (r"the rewards differ", r"earns? the same|one price|rewards are all|std of the rewards is 0"),
    (r"AdamW bears", r"\bsgd\b"),
    (r"no step was taken", r"finite in [1-9]\d* steps"),
    (r"the log: it is empty", r"(step|entry) \d+ of the log"),
    (r"steps: no optimizer stepped", r"% in a step; "),
    (r"hangs on no graph|depends on no trainable", r"gradients: all \d+ tensors have one"),
    (r"replies .{0,40}(are cut|do not end)", r"replies that end: 100% .*100% in the last"),
)
NO_ALL_CLEAR = re.compile(r"\braised\b|holds? nan or inf|(?<!\d)0 rows|not finite")
SAME_STEP = re.compile(r"(step \d+): \w+ \S+, before it \1:")
CLIPPED_TO_NOTHING = re.compile(r"-> \d(\.\d+)?e-\d+ by clipping")


def contradictions(report: Diagnosis) -> Iterator[str]:
    """Each contradiction of a report, in words."""
    text = " ".join(f"{report}\n{report.details}".replace("\n", " ; ").split())
    for one, other in PAIRS:
        first, second = re.search(one, text), re.search(other, text)
        if first and second:
            yield f"{first[0]!r} beside {second[0]!r}"
    if "nothing found" in str(report) and (found := NO_ALL_CLEAR.search(str(report))):
        yield f"'nothing found' beside {found[0]!r}"
    for pattern in (SAME_STEP, CLIPPED_TO_NOTHING):
        yield from dict.fromkeys(match[0] for match in pattern.finditer(text))
    for name in set(report.checked) & {*report.unseen, *report.shown}:
        yield f"{name} is fine, and is not judged or was not looked at"
    keys = [one.key for one in report.causes]
    yield from (f"{key} stands twice" for key in set(keys) if keys.count(key) > 1)
