"""GRPO with a correction for the sampler: one importance weight for a whole reply."""

import math
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said
from course_utils.explain.rules.replies import AGREE

FEW, LOW, STEADY = 3, 0.3, 3.0  # entries; of a mean ratio; times the first, up or down
AGREE_IN_FACTORS = 1.1  # of token_mult_prob_error, which is 1 where both engines agree
AGREE_IN_SHARES = 0.01  # of a probability
OF_A_PRODUCT = (
    "the correction for the sampler gives a reply one weight, the product of the ratios of its "
    "tokens, and the loss is multiplied by it: sampler and trainer differ by no more than rounding "
    "in a token, and over {} those differences add up, so that the mean weight is {:.2g} and "
    "nearly all of the gradient is lost"
)
BY_TOKEN = (
    "correct by token, or by the mean of the log-ratios of a reply (its geometric mean), and not "
    "by their sum; the limit from above does not help, since the weights are below 1; look again "
    "at the mean weight, which must be near 1"
)
_TOKEN_LEVEL = (
    ("token_error", AGREE_IN_FACTORS),
    ("logp_difference", AGREE),
    ("rollout_kl", AGREE),
    ("probability_difference", AGREE_IN_SHARES),
)


def product_over_a_reply(log: Log) -> Finding | None:
    """The mean weight is far below 1 from the first entry on, and the engines agree by token."""
    series = [(e, v) for e, v in log.series("importance_ratio") if math.isfinite(v)]
    ratios = [ratio for _, ratio in series]
    if len(series) < FEW or not 0 < max(ratios) < LOW:
        return None
    first, middle = ratios[0], median(ratios)
    if not first / STEADY < ratios[-1] < first * STEADY:
        return None  # they part: another cause
    levels = {name: finite(log.values(name)) for name, _ in _TOKEN_LEVEL}
    agree = [n for n, most in _TOKEN_LEVEL if levels[n] and max(map(abs, levels[n])) < most]
    if not agree or any(levels[n] and n not in agree for n, _ in _TOKEN_LEVEL):
        return None
    entry = series[0][0]
    shown = next((e for e, _ in log.series(agree[0])), entry)
    proof = [
        f"{said(entry, 'importance_ratio')} at {entry.where}, {min(ratios):.3g} to "
        f"{max(ratios):.3g} in all {len(series)} entries",
        f"by token the two agree: {said(shown, *(n for n in agree if n in shown.numbers))}",
    ]
    if norms := finite(log.values("grad_norm")):
        more = f"a mean weight of 1 would make it about {1 / middle:.0f} times as large"
        proof.append(f"grad_norm {min(norms):.2g} to {max(norms):.2g}; {more}")
    lengths = finite(log.values("length"))
    tokens = f"{median(lengths):.0f} tokens" if lengths else "a long reply"
    return Finding(
        "engines_disagree",
        7.6,
        entry,
        tuple(proof),
        why=OF_A_PRODUCT.format(tokens, middle),
        advice=BY_TOKEN,
    )


RULES = (product_over_a_reply,)
