"""Samples that are older than the run allows: a limit that does not hold, as behind a recovery."""

import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, said, share, trend

_LIMIT = re.compile(
    r"\b(?:max_head_offpolicyness|max_(?:sample_)?staleness|max_async_level|max_off_policy_steps?|"
    r"staleness_threshold)['\"]?\s*[=:]\s*(\d+)"
)
_RECOVERED = re.compile(r"\b(?:recover(?:ed|ing)|resum(?:e|ed|ing)|resubmitted|restarted)\b", re.I)
_COUNTED = re.compile(r"\b(accepted|consumed)\b\W{1,2}(\d+)")
FEW, MOSTLY, FAR = 3, 0.5, 2.0  # entries; of them; times what is allowed
OVER = (
    "samples are trained on that are older than the limit of this run allows: the limit does not "
    "hold them back, and the policy that sampled is ever further from the one that learns",
    "find what counts the samples in flight against the limit; a smaller number of concurrent "
    "rollouts until then; go on from a checkpoint before the age rose",
)
ANEW = (
    "behind the recovery the limit on the age of samples no longer binds: what it counts with "
    "began anew there, while the version of the weights went on, so that it lets too many samples "
    "in and they are trained on ever later",
    "a version of the trainer that sets its counters on recovery too (accepted or consumed = "
    "version times batch size); recover again from the last checkpoint, and drop the steps that "
    "were trained on old samples; a cap on the importance weights only limits the damage",
)


def older_than_allowed(log: Log, beside: Beside) -> Finding | None:
    """The age of the samples, in versions, is above a printed limit in many entries and at last."""
    limit, series = beside.matching(_LIMIT), log.series("staleness")
    series = [(e, v) for e, v in series if math.isfinite(v)]
    if limit is None or len(series) < FEW:
        return None
    most = int(_LIMIT.search(limit[1])[1]) + 1  # it ages by one while it is trained on
    old = [entry for entry, age in series if age > most]
    if len(old) < FEW or series[-1][1] < FAR * most:
        return None
    recovered = _recovery(log, beside, old[0])
    since = [e for e, _ in series if recovered is None or log.is_after(e, recovered[1])]
    before = [e for e, _ in series if all(e is not one for one in since)]
    if share(old, since) < MOSTLY or any(one is e for one in old for e in before):
        return None
    last = series[-1][0]
    proof = [
        f"{said(old[0], 'staleness')} at {old[0].where}, {said(last, 'staleness')} at {last.where}",
        f"{limit[0].where} says: {limit[1]}",
        *_counts(beside, recovered),
    ]
    if (levels := trend(log.values("reward"))) and levels[2] < levels[0]:
        proof.append(f"the reward falls meanwhile: {listed(levels)} by thirds of the log")
    why, advice = ANEW if recovered else OVER
    return Finding("stale_sampler", 8.5, old[0], tuple(proof), why=why, advice=advice)


def _recovery(log: Log, beside: Beside, turned: Entry) -> tuple[Line, Entry] | None:
    """The first line of the last recovery before an entry, and the entry that it follows."""
    spoken = [line for line in beside.words if _RECOVERED.search(line.text)]
    follows = [(_last_before(log, line), line) for line in spoken]
    known = [after for after, _ in follows if after is not None and log.is_after(turned, after)]
    if not known:
        return None
    return next((line, known[-1]) for after, line in follows if after is known[-1])


def _last_before(log: Log, line: Line) -> Entry | None:
    """The last entry above a line."""
    return next((e for e in reversed(log.entries) if place(e) < place(line)), None)


def _counts(beside: Beside, recovered: tuple[Line, Entry] | None) -> list[str]:
    """The line of the recovery, and a count of samples that is smaller behind it."""
    if recovered is None:
        return []
    number = place(recovered[0])
    counted = [
        (line, found) for line in beside.words if (found := _COUNTED.search(line.text)) is not None
    ]
    earlier = [one for one in counted if place(one[0]) < number]
    later = [one for one in counted if place(one[0]) > number]
    rows = [f"{recovered[0].where} says: {recovered[0].text[:MAX_QUOTE]}"]
    if earlier and later and int(later[0][1][2]) < int(earlier[-1][1][2]):
        (one, high), (other, low) = earlier[-1], later[0]
        rows.append(f"{high[0]} at {one.where}, {low[0]} at {other.where}: it counts anew")
    return rows


RULES_OF_SETTINGS = (older_than_allowed,)
