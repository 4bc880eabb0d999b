"""A loss over the rows of a batch whose cosines are scaled too little: `rule(log, beside)`.

The loss of one pair among B is at least ln(1 + (B - 1) exp(-2 scale)), where its own cosine is 1
and all others are -1. With a scale of 0.05 in place of 20 that is next to ln B.
"""

import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said
from course_utils.explain.rules.one_candidate import OF_THE_BATCH

_SCALE = re.compile(r"RankingLoss\(.*\bscale\s*=\s*(?P<scale>\d*\.?\d+)")
_ROWS = re.compile(r"\b(?:per_device_)?(?:train_)?batch_size['\"]?\s*[=:]\s*(?P<rows>\d+)")
FEW, MOST, ROUNDED = 3, 1.0, 0.02  # entries; a scale; nats
SCALED = (
    "the cosines are multiplied by {scale:g}, where the loss needs about 20: `scale` is one over "
    "the temperature. So the loss of a batch of {rows} rows cannot fall below {least:.3g} "
    "(ln {rows} = {chance:.3g} is chance), whatever is learnt, and its gradient asks hard and easy "
    "negatives to go away alike"
)
ONE_OVER = "scale=20 (a temperature of 0.05); neither the rate nor the batch size is to blame"


def scaled_too_little(log: Log, beside: Beside) -> Finding | None:
    """A scale below 1 in the code, and losses between its bound and the log of the batch."""
    set_to, rows_of = beside.first(_SCALE), beside.first(_ROWS)
    losses = finite(log.values("loss"))
    if not set_to or not rows_of or len(losses) < FEW or not beside.matching(OF_THE_BATCH):
        return None
    scale, rows = float(set_to[1]["scale"]), int(rows_of[1]["rows"])
    if not 0 < scale < MOST or rows < 2:
        return None
    chance, least = math.log(rows), math.log1p((rows - 1) * math.exp(-2 * scale))
    if not all(least - ROUNDED <= loss <= chance + ROUNDED for loss in losses):
        return None
    entry = log.series("loss")[-1][0]
    proof = (
        set_to[0].says,
        rows_of[0].says,
        f"{said(entry, 'loss')} at {entry.where}: all {len(losses)} lie between {least:.4g} and "
        f"{chance:.4g}",
    )
    why = SCALED.format(scale=scale, rows=rows, least=least, chance=chance)
    return Finding("similarity_unscaled", 8.6, entry, proof, why=why, advice=ONE_OVER)


RULES_OF_SETTINGS = (scaled_too_little,)
