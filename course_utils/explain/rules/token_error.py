"""The mean of exp(|difference of a token's two log-probs|), of sampler and trainer: its level, and
a single token in it."""

import math
import re
from statistics import fmean, median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said, share
from course_utils.explain.rules.replies import AGREE

MOST_OF_A_TOKEN = 1.05
ROUNDED = 1.5  # a level that rounding to 8 bits in the sampler alone may give
FEW, FAR, RARE, ALIKE = 6, 20.0, 0.1, 1.5  # entries; times the median; of all; times the others
FLAT = ("logp_difference", "rollout_kl", "importance_ratio", "grad_norm", "reward", "entropy")
FEW_TOKENS_APART = (
    "the engine that samples and the trainer give a few tokens very different probabilities, "
    "though they agree on average: a loss that weighs each token by their ratio would be thrown "
    "about by these"
)
OF_ONE_TOKEN = (
    "a single token: this metric is a mean of exp(|difference of the two log-probs|), so that one "
    "token which the two engines see very differently lifts it for one entry, and every number of "
    "the whole batch stays where it was"
)
WATCH_THE_MIDDLE = (
    "none needed; check the median or a high quantile of it, or the kl of both engines, in place "
    "of a single value; look again if it comes in several entries or these rise"
)
_FEW_BITS = re.compile(
    r"(?:\b(?:rollouts?|generat\w+|vllm|sglang|sampl\w+|engine)\b|quantization).*?"
    r"(?<![a-z])(?:mxfp[468]|nvfp4|fp[48]|int[48])(?![a-z0-9])|"
    r"(?<![a-z])(?:mxfp[468]|nvfp4|fp[48]|int[48])(?![a-z0-9]).{0,20}?\b(?:rollouts?|generation)\b",
    re.IGNORECASE,
)


def tokens_disagree(log: Log, beside: Beside) -> Finding | None:
    """The metric, which is 1 where both agree, is above it, and rounding alone does not do that."""
    series = _finite(log)
    bad = [(e, v) for e, v in series if v > MOST_OF_A_TOKEN]
    if not bad or share(bad, series) < 0.5:
        return None
    if median(v for _, v in series) < ROUNDED and beside.matching(_FEW_BITS):
        return None
    entry, _ = bad[0]
    counted = f"{len(bad)} of {len(series)} entries, first {entry.where}"
    proof = [
        f"{counted}: {said(entry, 'token_error')}; it is 1.0 where both engines agree, and above "
        f"{MOST_OF_A_TOKEN:g} they do not"
    ]
    means = [abs(value) for value in log.values("logp_difference")]
    if not means or fmean(means) > AGREE or median(v for _, v in bad) < 1.2:
        return Finding("engines_disagree", 7.0, entry, tuple(proof))
    proof.append(f"on average they differ by {fmean(means):.2g} nats only")
    return Finding("engines_disagree", 7.0, entry, tuple(proof), why=FEW_TOKENS_APART)


def one_token(log: Log) -> Finding | None:
    """The metric is far above its median in a rare entry, and all averages are flat there."""
    series = _finite(log)
    if len(series) < FEW:
        return None
    middle = median(value for _, value in series)
    spikes = [(e, v) for e, v in series if v > FAR * middle]
    if not 0 < len(spikes) <= max(1, RARE * len(series)) or middle > ROUNDED:
        return None
    entry, _ = max(spikes, key=lambda pair: pair[1])
    shown = [name for name in FLAT if name in entry.numbers]
    far = [one for one, _ in spikes]
    if not shown or not all(_is_flat(log, name, far) for name in shown):
        return None
    proof = (
        f"{said(entry, 'token_error')} at {entry.where}, {middle:.4g} in the median of "
        f"{len(series)} entries",
        f"as in the other entries there: {said(entry, *shown)}",
    )
    why, advice = OF_ONE_TOKEN, WATCH_THE_MIDDLE
    return Finding("lone_spikes", 3.2, entry, proof, why=why, advice=advice)


def _is_flat(log: Log, name: str, far: list[Entry]) -> bool:
    """Whether a number is, in these entries, no further out than in all others."""
    others = [abs(v) for e, v in log.series(name) if all(e is not one for one in far)]
    here = [abs(e.numbers[name]) for e in far if name in e.numbers]
    return bool(others) and all(min(others) / ALIKE <= v <= ALIKE * max(others) for v in here)


def _finite(log: Log) -> list[tuple[Entry, float]]:
    return [(e, v) for e, v in log.series("token_error") if math.isfinite(v)]


RULES = (one_token,)
RULES_OF_SETTINGS = (tokens_disagree,)
