"""A DPO loss written by hand over log-probs that are means, at a beta for sums:
`rule(log, beside)`."""

import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, margins_of, thirds
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.rules.preference import LN_2

_COUNT = (
    r"[\w.\[\]'\"]*(?:mask|keep|valid|len|count|n_tok|num_tok|tokens)[\w\[\]'\"]*"
    r"(?:\.\w+\([^()]*\))*"
)
_MEAN = re.compile(
    rf"\.sum\([^()]*\)\s*/\s*\(?\s*{_COUNT}|\baverage_log_prob\s*=\s*True\b|"
    r"\bmasked_mean\([^)]*log|\blog_?p\w*\.mean\((?:dim=)?-?1\)",
    re.IGNORECASE,
)
_DPO_LOSS = re.compile(r"\blogsigmoid\(|\blog\(\s*(?:torch\.|F\.)?sigmoid\(|\bsoftplus\(", re.I)
_FOR_MEANS = re.compile(
    r"(?<![a-z])(?:simpo|orpo|ipo)(?![a-z])|length[- _]normali[sz]", re.IGNORECASE
)
_BETA = re.compile(
    r"\bbeta['\"]?\s*[:= ]\s*(?P<a>\d*\.\d+)|sigmoid\(\s*(?P<b>0?\.\d+)\s*\*", re.IGNORECASE
)
FEW, LEAST, SMALL, LEARNS, LARGE, MEAN = 4, 0.6, 0.1, 0.55, 0.6, 15.0
OVER_TOKENS = (
    "the log-prob of a reply is a mean over its tokens here, and DPO's beta{beta} is one for the "
    "sum: the mean is as many times smaller as a reply has tokens, so that loss and margin hardly "
    "leave their start and the gradient is that much too small, though ever more pairs are right"
)
SUM_THEM = (
    "sum the log-probs over the tokens of the reply (leave out the division by the mask), with "
    "beta 0.1 as it is; or keep the mean and take a beta of 2 to 10 (length-normalised DPO). A "
    "larger learning rate in place of it throws the policy about"
)


def mean_over_the_tokens(log: Log, beside: Beside) -> Finding | None:
    """Code that divides by the number of tokens, a loss of pairs, and margins near 0."""
    mean, loss = _in_code(beside, _MEAN), _in_code(beside, _DPO_LOSS)
    if mean is None or loss is None or beside.matching(_FOR_MEANS):
        return None
    losses, margins = finite(log.values("loss")), finite(v for _, v in margins_of(log))
    hits = thirds(log.values("accuracy"))
    if len(losses) < FEW or not LEAST < min(losses) <= max(losses) < LN_2 + SMALL / 2:
        return None
    if hits is None or hits[2] < LEARNS or (margins and max(map(abs, margins)) > SMALL):
        return None
    logps = finite(log.values("chosen_logp") + log.values("rejected_logp"))
    beta = _beta(beside)
    if beta > LARGE or (logps and max(map(abs, logps)) > MEAN):
        return None
    proof = [
        mean.says,
        loss.says,
        f"the loss is {losses[0]:.4g} at first and {losses[-1]:.4g} at the end; ln 2 is 0.6931",
        f"the share of right pairs by thirds of the log: {listed(hits)}",
        *([f"the margin is at most {max(margins):.2g}"] if margins else []),
    ]
    told = f" of {beta:g}" if beta else ""
    of = ("beta_unusual", 8.6, mean, tuple(proof))
    return Finding(*of, why=OVER_TOKENS.format(beta=told), advice=SUM_THEM)


def _in_code(beside: Beside, pattern: re.Pattern) -> Line | None:
    found = (line for line in beside.words if pattern.search(line.text))
    return next((line for line in found if not is_prose(line.text)), None)


def _beta(beside: Beside) -> float:
    """The beta that is set or written into the loss; 0 where none is."""
    found = beside.first(_BETA)
    value = float(found[1]["a"] or found[1]["b"]) if found else 0.0
    return value if math.isfinite(value) else 0.0


RULES_OF_SETTINGS = (mean_over_the_tokens,)
