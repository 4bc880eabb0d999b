"""Trained weights that are never sent to the program that samples: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, is_prose
from course_utils.explain.paste.entries import MAX_QUOTE, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, thirds

_SYNC_OFF = re.compile(
    r"\b(?:\w+[_.-])?(?:weights?|policy|params?|model|actor|sampler|rollout|engine)[_.-]"
    r"(?:sync|update|push|broadcast)(?:[_.-](?:path|dir|url|method|backend|interval|every|steps|"
    r"enabled?))?['\"]?\s*[=:]\s*['\"]?(?:none|null|false|off|0|-1)\b(?!\.)",
    re.IGNORECASE,
)
_REQUEST = re.compile(r"\b(?:POST|GET|PUT) (?P<path>/[\w/.-]*)")
_SAMPLES = re.compile(r"/(?:\w+/)*(?:generate\w*|completions|chat/completions)$")
_SENDS = re.compile(r"weight|update|sync|lora|adapter|reload|flush", re.IGNORECASE)
_APART = re.compile(
    r"\b(?P<name>\w*d?_?log_?p\w*(?:_?diff\w*)?\((?:train\w*|policy|actor|learner), ?"
    r"(?:rollout|sampler|vllm|sglang|engine)\))\W{1,3}(?P<value>\d+\.\d+)",
    re.IGNORECASE,
)
FEW, GROWN, FLAT = 3, 5.0, 0.1  # lines; times the first; of a reward
NEVER_SENT = (
    "the trained weights are never sent to the program that samples{}: every reply is that of the "
    "first weights, so that its reward stays as it was while the trainer learns from what it would "
    "not write any more"
)
SEND = (
    "switch the sync on, and send the weights after each update (or every few): save them where "
    "the sampler can read them, let it load them and drop its cache of prefixes; the log-probs of "
    "the same tokens must agree again after each of them. Begin again from the first weights"
)


def never_sent(log: Log, beside: Beside) -> Finding | None:
    """A sync that is switched off, or a server that was only asked to sample, while the trainer
    leaves it."""
    if log.kind() != "policy":
        return None
    off = next((one for one in beside.all_matching(_SYNC_OFF) if not is_prose(one[0].text)), None)
    asked, apart = _only_asked(beside), _parts(log, beside)
    levels = thirds(log.values("reward"))
    stays = levels is not None and abs(levels[2] - levels[0]) <= FLAT * abs(levels[0])
    if not off and not (asked and apart):
        return None
    if levels is not None and not stays:
        return None
    if not apart and not (asked and stays):
        return None
    proof = [f"{off[0].where} says: {off[1]}"] if off else []
    proof += [*asked, *apart]
    proof += [f"the reward stays: {listed(levels)} by thirds of the log"] if stays else []
    at = off[0] if off else log.entries[-1]
    why = NEVER_SENT.format(f" ({off[1]} switches it off)" if off else "")
    return Finding("stale_sampler", 9.0, at, tuple(proof), why=why, advice=SEND)


def _only_asked(beside: Beside) -> list[str]:
    """That a server was asked for replies, and never to take weights."""
    asked: list[tuple[Line, str]] = [
        (line, found["path"]) for line in beside.words for found in _REQUEST.finditer(line.text)
    ]
    samples = [line for line, path in asked if _SAMPLES.search(path)]
    if len(samples) < FEW or any(_SENDS.search(path) for _, path in asked):
        return []
    paths = ", ".join(dict.fromkeys(path for _, path in asked))
    return [f"{samples[0].where} on, the server is asked for {paths[:MAX_QUOTE]} and nothing else"]


def _parts(log: Log, beside: Beside) -> list[str]:
    """A difference of log-probs between the two that grows from row to row."""
    parts = {one.where: one for one in (*log.entries, *(line for line in beside.words))}
    rows = [
        (one, found)
        for one in sorted(parts.values(), key=place)
        if (found := _APART.search(one.text))
    ]
    values = [float(found["value"]) for _, found in rows]
    if len(values) < FEW or not values[-1] > GROWN * values[0] > 0:
        return []
    (first, one), (last, other) = rows[0], rows[-1]
    return [
        f"{one['name']} is {one['value']} at {first.where} and {other['value']} at {last.where}"
    ]


RULES_OF_SETTINGS = (never_sent,)
