"""DPO at the learning rate of the supervised stage before it: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, thirds
from course_utils.explain.rules.adapter_rate import ADAPTER
from course_utils.explain.rules.preference import LN_2

_NO_REFERENCE = re.compile(
    r"(?<![a-z])(?:simpo|orpo|cpo)(?![a-z])|\bRewardTrainer\b", re.IGNORECASE
)
_ADAPTER = re.compile(
    r"\blora_?(?:r|rank|alpha)\b|\bunsloth\b|\bload_in_4bit\b|\b4[- ]?bit\b|\br=\d+", re.I
)
_WHOLE = re.compile(
    r"finetuning_type['\"]?\s*[:=]\s*['\"]?full|\bfull[- ](?:dpo|fine-?tun\w*|ft|weights)\b|"
    r"\buse_(?:peft|lora)\W+false",
    re.I,
)
_AS_FOR_SFT = re.compile(
    r"\b(?:sft|fine-?tun\w*)\b.{0,30}\b(?:yaml|config|script|notebook|recipe|settings?|lr|rate)\b|"
    r"\b(?:as|same|from|took|kept|copied)\b.{0,40}\bsft\b",
    re.IGNORECASE,
)
OF_A_WHOLE, OF_AN_ADAPTER = 4e-6, 8e-5  # rates that DPO seldom bears
FALLEN, LOST, THROWN = -5.0, 0.15, 0.1  # a reward; of a log-prob; above ln 2
FEW = 6
OF_SFT = (
    "the learning rate is one for supervised training, {rate:.2g}, and DPO of {what} bears about "
    "{usual}: the steps throw the policy far from its reference, also the replies it should write "
    "become unlikely ({shown}), and it falls into repetition, however good margin and accuracy look"
)
LOWER = (
    "a learning rate of {usual} for {what}, with a warm-up over a tenth of the steps; begin again "
    "from the SFT weights, those of this run are damaged; a larger beta alone does not mend it"
)


def rate_of_sft(log: Log, beside: Beside) -> Finding | None:
    """Pairs at 1e-5 and more (an adapter: 1e-4), and chosen replies that lose far too much."""
    rates = finite(log.values("learning_rate"))
    rates = rates or [one.number for one in beside.of("learning_rate") if one.number]
    chosen = thirds(log.values("chosen_reward"))
    if not rates or chosen is None or log.scores_alone or "log_odds" in log.fields:
        return None
    is_adapter = not beside.matching(_WHOLE) and bool(
        beside.matching(ADAPTER) or beside.matching(_ADAPTER)
    )
    if max(rates) < (OF_AN_ADAPTER if is_adapter else OF_A_WHOLE) or beside.matching(_NO_REFERENCE):
        return None
    lost, thrown = _lost(log), _thrown(log)
    is_told = is_adapter or beside.matching(_WHOLE)  # else it takes both to tell
    if chosen[2] > FALLEN or not (lost or thrown) or not (is_told or (lost and thrown)):
        return None
    entry = log.series("chosen_reward")[-1][0]
    name = entry.names["chosen_reward"]
    as_sft = beside.matching(_AS_FOR_SFT)
    proof = [
        f"the highest learning rate shown is {max(rates):.2g}",
        f"{name} by thirds of the log: {listed(chosen)}; 0 is the reference",
        *lost,
        *thrown,
        *([as_sft[0].says] if as_sft else []),
    ]
    what = "an adapter" if is_adapter else "a whole model"
    usual = "5e-6 to 2e-5" if is_adapter else "5e-7 to 1e-6"
    shown = f"{name} is {chosen[2]:.3g} in the last third"
    why = OF_SFT.format(rate=max(rates), what=what, usual=usual, shown=shown)
    advice = LOWER.format(usual=usual, what=what)
    return Finding("thrown_about", 7.4, entry, tuple(proof), why=why, advice=advice)


def _lost(log: Log) -> list[str]:
    """How far the log-prob of the chosen replies has fallen."""
    logps = finite(log.values("chosen_logp"))
    if len(logps) < FEW or logps[-1] > (1 + LOST) * logps[0]:
        return []
    return [f"the log-prob of the chosen replies goes from {logps[0]:.4g} to {logps[-1]:.4g}"]


def _thrown(log: Log) -> list[str]:
    """A loss above that of an untrained policy."""
    series = [(e, v) for e, v in log.series("loss") if v > LN_2 + THROWN]
    if not series:
        return []
    entry, loss = max(series, key=lambda one: one[1])
    return [f"the loss is {loss:.4g} at {entry.where}; ln 2 = 0.693 is an untrained policy's"]


RULES_OF_SETTINGS = (rate_of_sft,)
