"""A loss of distillation that looks stuck: it has the entropy of the teacher as its floor."""

import re
from collections.abc import Iterable, Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, thirds

_NUMBER = r"['\"]?\s*[:=|]?\s*(?P<value>\d+\.\d+)"
_ENTROPY = re.compile(
    r"\b(?P<name>(?:teacher|target|soft(?:_target)?|t)_?(?:ent(?:ropy)?|H))" + _NUMBER
)
_LOSS = re.compile(
    r"\b(?P<name>(?:train_|eval_)?(?:kd(?:_loss|_ce)?|distill\w*|soft_?ce|ce_soft|soft_loss))"
    + _NUMBER,
    re.IGNORECASE,
)
_CROSS_ENTROPY = re.compile(
    r"-\s*\(\s*\w+(?:\.\w+\(\))*\s*\*\s*\w+(?:\.\w+\([-\w=]*\))*\s*\)\s*\.sum\(|"
    r"\b(?:soft|full)[- ]?(?:label |target )?cross[-_ ]?entropy\b|"
    r"\bcross_entropy\([^()]*(?:teacher|soft|probs|t_p|pt)\w*",
    re.IGNORECASE,
)
_OF_ITSELF = re.compile(r"^\w*(?:ent|entropy|H)\s*=")  # of the teacher alone
_IS_A_KL = re.compile(r"\bkl_div\(|\bKLDivLoss\b|\.log\(\)\s*-\s*\w+|\b(?:lt|tlp|t_lp)\s*-\s*\w+")
FEW, BELOW, LEFT = 5, -0.01, 0.5  # entries; of an entropy; of the distance at the start
FLOOR = (
    "the loss is the cross entropy against the teacher's own probabilities, which is the KL plus "
    "the teacher's entropy: with the teacher copied exactly it is that entropy and not 0. What is "
    "left above it is the KL, and that is small and shrinks"
)
LOG_THE_KL = "none needed; log the loss less the teacher's entropy, which is the KL"


def entropy_is_the_floor(beside: Beside, log: Log) -> Iterator[Finding]:
    """A soft cross entropy beside the teacher's entropy, above it by less and less."""
    found = [line for line in beside.words if _CROSS_ENTROPY.search(line.text)]
    code = next((line for line in found if not _OF_ITSELF.match(line.text)), None)
    if code is None or beside.matching(_IS_A_KL):
        return
    trained = _pairs(log.entries)
    gaps = [loss - floor for _, loss, floor in trained]
    levels = thirds(gaps)
    if len(trained) < FEW or levels is None or min(gaps) < BELOW:
        return
    if not levels[2] < LEFT * levels[0] or levels[2] > levels[1]:
        return
    held_out = _pairs(line for line in beside.words)
    if held_out and not 0 <= held_out[-1][1] - held_out[-1][2] < held_out[0][1] - held_out[0][2]:
        return
    at, loss, floor = trained[-1]
    proof = [
        f"{code.where} says: {code.text.strip()[:100]}",
        f"{at.where}: the loss {loss:g}, the teacher's entropy {floor:g}, so that "
        f"{loss - floor:.3g} is left",
        f"what is above that entropy, by thirds of the log: {listed(levels)}",
    ]
    if held_out:
        (first, then, under), (last, now, floor) = held_out[0], held_out[-1]
        proof.append(
            f"held out: {then - under:.3g} at {first.where}, {now - floor:.3g} at {last.where}"
        )
    yield Finding("entropy_is_the_floor", 6.0, at, tuple(proof), why=FLOOR, advice=LOG_THE_KL)


def _pairs(parts: Iterable[Entry | Line]) -> list[tuple[Entry | Line, float, float]]:
    """Each part that has both, with the loss and the entropy, in their order."""
    found = []
    for part in sorted(parts, key=place):
        loss, floor = _LOSS.search(part.text), _ENTROPY.search(part.text)
        if loss and floor:
            found.append((part, float(loss["value"]), float(floor["value"])))
    return found
