"""SimPO with a beta that is one for DPO: `rule(log, beside)`."""

import math
import re
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import margins_of, said
from course_utils.explain.paste.sentences import is_prose

_SIMPO = re.compile(r"(?<![a-z])simpo", re.IGNORECASE)
_AS_LOSS = re.compile(r"loss\w*['\"]?\W{1,4}simpo|simpo_?(?:gamma|loss|trainer|config)", re.I)
_OTHER_LOSS = re.compile(
    r"\b(?:loss_type|pref_loss|loss)['\"]?\s*[:=]\s*\[?['\"]?(?:sigmoid|hinge|ipo|orpo|dpo|kto\w*)\b",
    re.IGNORECASE,
)
_ORPO = re.compile(r"(?<![a-z])orpo\b", re.IGNORECASE)
_COMMENTED = re.compile(r"\bbeta\)?\s*#+\D{0,12}(?P<value>\d*\.\d+)")
_HAS_DEFAULT = re.compile(r"\bCPO(?:Config|Trainer)\b|\bpref_loss\b|\bllamafactory", re.IGNORECASE)
_BETA = re.compile(r"\b(?:pref_)?beta['\"]?\s*[:= ]\s*\d")
_GAMMA = re.compile(r"(?<![a-z])gamma['\"]?\s*[:= ]\s*(?P<value>\d*\.?\d+)", re.IGNORECASE)
DEFAULT = 0.1  # of CPOConfig and of pref_beta
LEAST, MEAN, SAME, FLAT, NEAR = 1.0, 15.0, 0.05, 0.9, 0.12
FEW = 3  # entries
ONE_OF_DPO = (
    "SimPO runs with a beta of {beta:g}, which is one for DPO: its reward is beta times the MEAN "
    "log-prob of a reply's tokens, and means of two replies differ by a few tenths, so that the "
    "margin stays near 0, the loss near log(1 + e^gamma){start}, and the gradient is far too small "
    "to learn by"
)
TWO_OR_MORE = (
    "beta 2.0 to 2.5 (up to 10 for an instruct model) with gamma about half of it (gamma / beta "
    "near 0.5), and a learning rate of 3e-7 to 1e-6 for full weights; more epochs or another "
    "schedule do not mend it"
)


def beta_of_dpo(log: Log, beside: Beside) -> Finding | None:
    """SimPO is named, beta is far below 1, and the loss stays where it began."""
    by_rewards = _by_rewards(log)
    named = _named(beside, is_sure=by_rewards is not None)
    if named is None or "log_odds" in log.fields or _names_other_loss(beside):
        return None
    logps = finite(log.values("chosen_logp") + log.values("rejected_logp"))
    if logps and max(map(abs, logps)) > MEAN:
        return None  # sums over the tokens, for which beta is usual
    found, flat = by_rewards or _beta(beside), _flat(log)
    if found is None or not 0 < found[0] < LEAST or (log.entries and not flat):
        return None
    beta, how, is_shown = found
    gamma = _gamma(beside)
    start = math.log1p(math.exp(gamma)) if gamma else None
    if not is_shown and not (start and _is_near(log, start)):
        return None
    proof = [f"{named.where} says: {named.text.strip()[:100]}", how, *flat, *_margins(log)]
    at = log.entries[-1] if log.entries else named
    why = ONE_OF_DPO.format(beta=beta, start=f" = {start:.3f}" if start else "")
    weight = 8.5 if flat and is_shown else 7.0 if flat else 6.0
    of = ("beta_unusual", weight, at, tuple(dict.fromkeys(proof)))
    return Finding(*of, why=why, advice=TWO_OR_MORE)


def _named(beside: Beside, is_sure: bool) -> Line | None:
    """The line that names the loss: one of a program or of a file, or also a sentence where the
    numbers show a beta."""
    lines = [line for line in beside.words if _SIMPO.search(line.text)]
    lines.sort(key=lambda line: not _AS_LOSS.search(line.text))
    told = [line for line in lines if is_sure and not beside.matching(_ORPO)]
    return next((line for line in lines if not is_prose(line.text)), next(iter(told), None))


def _names_other_loss(beside: Beside) -> bool:
    found = beside.all_matching(_OTHER_LOSS)
    return any(not is_prose(line.text) for line, _ in found)


def _beta(beside: Beside) -> tuple[float, str, bool] | None:
    """The beta that is set, what shows it, and whether that is more than a default."""
    set_here = [one for one in beside.of("beta") if one.number and "beta" in one.written]
    set_here = [one for one in set_here if not is_prose(one.line.text)]
    if set_here:
        return set_here[-1].number, set_here[-1].said, True
    if printed := beside.first(_COMMENTED):
        line, one = printed
        return float(one["value"]), line.says, True
    default: tuple[Line, str] | None = beside.matching(_HAS_DEFAULT)
    if default is None or any(_BETA.search(line.text) for line in beside.words):
        return None
    return DEFAULT, f"{default[0].where}: no beta is set, and the default is {DEFAULT:g}", False


def _by_rewards(log: Log) -> tuple[float, str, bool] | None:
    """The beta by which every reward is its log-prob times, as without a reference."""
    pairs = [
        (entry, entry.numbers[f"{side}_reward"] / entry.numbers[f"{side}_logp"])
        for entry in log.entries
        for side in ("chosen", "rejected")
        if f"{side}_reward" in entry.numbers and entry.numbers.get(f"{side}_logp")
    ]
    ratios = finite(ratio for _, ratio in pairs)
    if len(ratios) < 2 * FEW or len(ratios) < len(pairs) or min(ratios) <= 0:
        return None
    beta, entry = median(ratios), pairs[0][0]
    if max(ratios) - min(ratios) > SAME * beta:
        return None
    shown = said(entry, "chosen_reward", "chosen_logp")
    return beta, f"{entry.where}: {shown}, so that beta is {beta:.2g}, as in all entries", True


def _flat(log: Log) -> list[str]:
    """That the loss ends about where it began."""
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    if len(series) < FEW or series[-1][1] < FLAT * series[0][1]:
        return []
    (first, loss), (last, end) = series[0], series[-1]
    return [f"the loss is {loss:.4g} at {first.where} and {end:.4g} at {last.where}"]


def _margins(log: Log) -> list[str]:
    margins = finite(value for _, value in margins_of(log))
    return [f"the margin is at most {max(margins):.2g}"] if margins else []


def _gamma(beside: Beside) -> float:
    found = beside.all_matching(_GAMMA)
    return float(_GAMMA.search(found[-1][1])["value"]) if found else 0.0


def _is_near(log: Log, start: float) -> bool:
    losses = finite(log.values("loss"))
    return bool(losses) and abs(losses[0] / start - 1) < NEAR


RULES_OF_SETTINGS = (beta_of_dpo,)
