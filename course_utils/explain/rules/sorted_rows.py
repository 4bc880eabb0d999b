"""A reward that follows the order of the rows, and not the policy: `rule(log, beside)`."""

import math
import re
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import change, said, spread

_NOT_SHUFFLED = re.compile(
    r"\bshuffle\w*['\"]?\s*[=:]\s*['\"]?(?:false|0)\b|\bno[-_]shuffle\b|"
    r"\bby[-_]?(?:pass\w*|difficulty|length|score)|\bsorted\b|\bcurriculum\b",
    re.IGNORECASE,
)
FEW, JUMP, FALLS = 4, 0.5, 0.6  # entries of an epoch; of all that the reward moves; of its steps
Series = list[tuple[Entry, float]]


def follows_the_rows(log: Log, beside: Beside) -> Finding | None:
    """Within each epoch the reward falls, at the next it is back and above; an evaluation rises."""
    series = [(e, v) for e, v in log.series("reward") if math.isfinite(v)]
    judged, order = change(log.values("eval_accuracy")), beside.matching(_NOT_SHUFFLED)
    epochs = _epochs(series)
    if order is None or judged is None or judged[1] <= judged[0] or len(epochs) < 2:
        return None
    if not all(_falls(one) for one in epochs):
        return None
    first, last = epochs[0], epochs[-1]
    if last[0][1] < first[0][1] or last[-1][1] < first[-1][1]:
        return None
    begun, entry = first[-1][0], epochs[1][0][0]
    proof = (
        f"within an epoch the reward falls, and it is back with the next: "
        f"{said(begun, 'reward')} at {begun.where}, {said(entry, 'reward')} at {entry.where}",
        f"each epoch begins and ends above the one before: {first[0][1]:.3g} to "
        f"{first[-1][1]:.3g}, then {last[0][1]:.3g} to {last[-1][1]:.3g}",
        f"the evaluation rises from {judged[0]:.3g} to {judged[1]:.3g} (first and last third)",
        order[0].says,
    )
    return Finding("rows_by_difficulty", 4.2, entry, proof)


def _epochs(series: Series) -> list[Series]:
    """The rewards between the entries at which they jump up by a good part of all they move."""
    parts: list[Series] = [[]]
    least = JUMP * spread([value for _, value in series])
    for n, one in enumerate(series):
        if n and one[1] - series[n - 1][1] > least > 0:
            parts.append([])
        parts[-1].append(one)
    return parts


def _falls(part: Series) -> bool:
    rewards = [value for _, value in part]
    down = [now < before for before, now in pairwise(rewards)]
    is_long = len(rewards) >= FEW and rewards[-1] < rewards[0]
    return is_long and sum(down) > FALLS * len(down)


RULES_OF_SETTINGS = (follows_the_rows,)
