"""A KL term that is taken from the loss, so that training raises the KL: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.usual_words import OF_KL

_TAKEN = re.compile(  # loss = loss - kl * weight, or loss -= kl * weight, without a minus in front
    r"^\W*(?P<loss>(?:self\.)?\w*loss\w*)\s*(?:=\s*(?:self\.)?\w*loss\w*\s*-|-=)\s*"
    r"(?P<term>[\w.\[\]'\"]*(?:\s*\*\s*[\w.\[\]'\"]+)?)\s*$"
)
_COEF = re.compile(r"coef|beta|weight|alpha", re.IGNORECASE)
FEW, RISEN, FAR = 4, 20.0, 0.3  # entries; times the first; nats
SUBTRACTED = (
    "the KL term has the wrong sign: the loss is minimised and the code takes the KL from it, so "
    "that each step raises the KL to the reference, the faster the larger its coefficient. A "
    "larger coefficient makes it worse"
)
ADD_IT = (
    "add it: {loss} + {term}; go back to weights from before the KL rose, and see that a larger "
    "coefficient then makes the KL smaller"
)


def kl_subtracted(log: Log, beside: Beside) -> Finding | None:
    """Code takes the KL from the loss, and the KL grows without bound in this run."""
    code = _code(beside)
    name = next((n for n in ("kl_loss", "kl") if len(finite(log.values(n))) >= FEW), "")
    if code is None or not name:
        return None
    line, taken = code
    values, weights = finite(log.values(name)), finite(log.values("kl_coefficient"))
    if weights and not any(weights):
        return None  # the term is off in this run
    if values[-1] < max(FAR, RISEN * abs(values[0])) or values[-1] < max(values[:-1]) / 2:
        return None
    entry = log.series(name)[-1][0]
    shown = [n for n in (name, "kl_coefficient") if n in entry.numbers]
    first = log.series(name)[0][0]
    proof = [
        line.says,
        f"{said(first, name)} at {first.where}, {said(entry, *shown)} at {entry.where}",
        *_other_weights(log, name),
    ]
    advice = ADD_IT.format(loss=taken["loss"], term=taken["term"].strip())
    return Finding("kl_subtracted", 9.2, entry, tuple(proof), why=SUBTRACTED, advice=advice)


def _code(beside: Beside) -> tuple[Line, re.Match] | None:
    """The line that takes the KL from a loss which no line turns round."""
    for line in beside.words:
        found = _TAKEN.match(line.text.partition("#")[0])
        if not found or not OF_KL.search(found["term"]) or not _COEF.search(found["term"]):
            continue
        turned = re.compile(rf"-\s*\(?{re.escape(found['loss'])}\b(?!\s*-)|maximize\s*=\s*True")
        if not any(turned.search(other.text) for other in beside.words if other is not line):
            return line, found
    return None


def _other_weights(log: Log, name: str) -> list[str]:
    """The last KL of the other runs, of another coefficient at the same step."""
    rows = []
    for run in log.earlier:
        last = next((e for e in reversed(run.entries) if name in e.numbers), None)
        if last is not None and "kl_coefficient" in last.numbers:
            rows.append(f"another run: {said(last, name, 'kl_coefficient')} at {last.where}")
    return rows[-2:]


RULES_OF_SETTINGS = (kl_subtracted,)
