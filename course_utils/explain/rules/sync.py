"""GRPO and PPO: the sampler's copy of the weights: damaged by a sync, or never renewed."""

import math
import re
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, Setting, is_prose
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, thirds, trend
from course_utils.explain.rules.drift import NEVER_SENT, replies_stay
from course_utils.explain.rules.replies import AGREE

APART = ("logp_difference", "rollout_kl", "probability_difference")
JUMPED, GROWN, MOVED = 5.0, 3.0, 5.0  # times the first; times the first third; of a kl
STEADY = 0.2, 0.8  # of the last third: where the middle one stands
MANY, FLAT, GAIN = 8, 0.1, 0.03  # entries; of a level: how far a flat one moves, or rises
OLD_ANSWERS = (
    "the sampler does not get the weights that are trained: asked the same thing again and again "
    "it answers as at first, while the trainer's model answers otherwise by now"
)
FEW_ASKED = 3  # answers of each
_JUDGES = re.compile(r"\b(?:val|eval|test)\w*[._ -](?:\w+[._ -])*temperature", re.IGNORECASE)
APART_AT_ONCE = 0.02  # of a mean ratio from 1, or nats: more than rounding makes
TENFOLD, FAR = 10.0, 0.1  # times the first; nats a token
_ASKED = {  # the same prompt, given to both
    who: re.compile(rf"^\W*(?:{names})\w*\W{{0,3}}[:|>]\s*(?P<said>\S.{{15,}})$", re.IGNORECASE)
    for who, names in (
        ("engine", "vllm|sglang|sampler|rollout|engine"),
        ("trainer", "hf|trainer|transformers|policy|learner|model"),
    )
}
_MODE = re.compile(r"\blogprobs[_-]mode['\"]?[\s=:]+['\"]?(raw|processed)_\w+", re.IGNORECASE)
AS_RAW = (
    "the engine returns the log-probs of its raw logits ({}), as if it sampled at temperature 1; "
    "it samples at {}, and the trainer divides its logits by that: the two differ from the first "
    "entry on, wherever a token is not certain, and a weight made of them corrects what is no error"
)
AS_PROCESSED = (
    'logprobs_mode="processed_logprobs" in the engine (with top_p 1 and no top_k), or temperature '
    "1 in both"
)
DAMAGED = (
    "the sampler's copy of the weights is damaged by the sync: the trainer's policy does not move, "
    "and yet sampler and trainer part from the first sync on; reward, environment and gradient "
    "are not to blame",
    "send the weights in another way (another sync backend, one trainer process without shards, or "
    "full weights on disk) and compare checksums of the same tensors in both after the sync; keep "
    "this run without a learning rate, and a limit on the difference, as a test",
)


def damaged_by_sync(log: Log) -> Finding | None:
    """Rate and kl are 0 throughout, and the two engines part from the second entry on."""
    rates, kls = log.values("learning_rate"), log.values("kl") + log.values("kl_loss")
    if len(rates) < 2 or not kls or any(rates) or any(kls):
        return None
    for name in APART[:2]:
        series = [(e, v) for e, v in log.series(name) if math.isfinite(v)]
        if len(series) < 2:
            continue
        (first, low), *others = series
        if median(v for _, v in others) < JUMPED * max(low, AGREE):
            continue
        turned = others[0][0]
        proof = (
            f"{said(first, name)} at {first.where}, {said(turned, name)} at {turned.where}",
            f"the policy stands: {said(turned, 'learning_rate', *_kl(turned))} in all entries",
            *_other_replies(first, turned),
        )
        why, advice = DAMAGED
        return Finding("engines_disagree", 8.8, turned, proof, why=why, advice=advice)
    return None


def _kl(entry: Entry) -> list[str]:
    return [name for name in ("kl", "kl_loss") if name in entry.numbers][:1]


def _other_replies(first: Entry, turned: Entry) -> tuple[str, ...]:
    """Reward and length of both entries, where they show that the replies are others."""
    shown = [n for n in ("reward", "length") if n in first.numbers and n in turned.numbers]
    if not shown:
        return ()
    return (f"the replies change with it: {said(first, *shown)}, then {said(turned, *shown)}",)


def never_renewed(log: Log) -> Finding | None:
    """The policy leaves its start and the sampler step by step, and the replies stay the same."""
    moved = next((n for n in ("kl_loss", "kl") if _grows(log.values(n), MOVED)), None)
    if moved is None or not all(map(_stays, map(log.values, ("reward", "length")))):
        return None
    judged = finite(log.values("eval_accuracy"))
    if judged and max(judged) - min(judged) > GAIN * max(map(abs, judged)):
        return None
    for name in APART:
        series, levels = log.series(name), trend(log.values(name))
        if not _grows(log.values(name), GROWN) or levels[2] < AGREE:
            continue
        if not levels[2] * STEADY[0] < levels[1] < levels[2] * STEADY[1]:
            continue  # it jumps, or has come to rest
        first, last = series[0][0], series[-1][0]
        proof = [
            f"{said(first, name)} at {first.where}, {said(last, name)} at {last.where}: they part "
            "step by step",
            f"the trainer's policy moves: {said(last, moved)}, by thirds "
            f"{listed(thirds(log.values(moved)))}",
            f"the replies do not: reward by thirds {listed(thirds(log.values('reward')))}, length "
            f"{listed(thirds(log.values('length')))}",
        ]
        if len(judged) > 1:
            proof.append(f"the evaluation stays between {min(judged):.4g} and {max(judged):.4g}")
        turned = next((e for e, v in series if v > GROWN * series[0][1]), last)
        return Finding("stale_sampler", 7.3, turned, tuple(proof))
    return None


def agrees_then_parts(log: Log) -> Finding | None:
    """The two agree at first and part further and further, and the replies stay as they were."""
    replies = replies_stay(log)
    for name in APART if replies else ():
        series, levels = log.series(name), trend(log.values(name))
        if len(series) < MANY or levels is None or not 0 <= series[0][1] < AGREE:
            continue
        if not levels[0] < levels[1] < levels[2] or levels[2] < max(FAR, TENFOLD * series[0][1]):
            continue
        turned = next(e for e, v in series if v > TENFOLD * max(series[0][1], AGREE / 2))
        proof = (
            f"{said(series[0][0], name)} at {series[0][0].where}, {said(series[-1][0], name)} at "
            f"{series[-1][0].where}; by thirds of the log {listed(levels)}",
            *replies,
        )
        return Finding("stale_sampler", 6.4, turned, proof, why=NEVER_SENT)
    return None


def mode_of_log_probs(beside: Beside) -> tuple[Line, str] | None:
    """The last line of a program that says of which logits the engine's log-probs are."""
    found = [one for one in beside.all_matching(_MODE) if not is_prose(one[0].text)]
    return found[-1] if found else None


def sampling_temperature(beside: Beside) -> Setting | None:
    """The last number that is a temperature, and not that of an evaluation."""
    found = [one for one in beside.of("temperature") if one.number is not None]
    return next((one for one in reversed(found) if not _JUDGES.search(one.line.text)), None)


def raw_log_probs(log: Log, beside: Beside) -> Finding | None:
    """Log-probs of raw logits at another temperature than 1, which differ from the start."""
    mode, sampled = mode_of_log_probs(beside), sampling_temperature(beside)
    if mode is None or "raw" not in mode[1].lower() or sampled is None:
        return None
    firsts = [
        (abs(series[0][1] - equal), name, series[0][0])
        for name, equal in (("importance_ratio", 1.0), ("logp_difference", 0.0))
        if (series := log.series(name))
    ]
    apart, name, entry = max(firsts, default=(0.0, "", None), key=_first)
    if sampled.number in (0.0, 1.0) or entry is None or not apart > APART_AT_ONCE:
        return None
    proof = (
        f"{entry.where}, the first entry: {said(entry, name)}",
        f"{mode[0].where} says: {mode[1]}",
        sampled.said,
    )
    why = AS_RAW.format(mode[1], f"{sampled.written} {sampled.value}")
    return Finding("engines_disagree", 8.0, entry, proof, why=why, advice=AS_PROCESSED)


def _first(one: tuple) -> float:
    return one[0]


def asked_again(log: Log, beside: Beside) -> Finding | None:
    """One prompt, asked of both again and again: the engine's answer stays, and one changes."""
    rates = finite(log.values("learning_rate"))
    told = {
        who: [
            (line, one["said"].strip()) for line in beside.words if (one := asked.match(line.text))
        ]
        for who, asked in _ASKED.items()
    }
    engine, trainer = told["engine"], told["trainer"]
    if len(engine) < FEW_ASKED or len(engine) != len(trainer) or (rates and not any(rates)):
        return None
    if len(_answers(engine)) > 1 or len(_answers(trainer)) < 2 or engine[0][1] != trainer[0][1]:
        return None
    (line, answer), (last, other) = engine[-1], trainer[-1]
    proof = (
        f"the engine answers the same each time ({', '.join(at.where for at, _ in engine[:4])}): "
        f"{answer[:60]}",
        f"the trainer's model answers as it does at {trainer[0][0].where}, and otherwise at "
        f"{last.where}: {other[:60]}",
    )
    return Finding("stale_sampler", 8.6, line, proof, why=OLD_ANSWERS)


def _answers(told: list[tuple[Line, str]]) -> set[str]:
    return {answer for _, answer in told}


def _grows(values: list[float], factor: float) -> bool:
    levels = trend(values) if len(values) >= MANY else None
    return levels is not None and 0 <= factor * levels[0] < levels[2]


def _stays(values: list[float]) -> bool:
    """Whether a level neither rises nor falls by much."""
    levels = thirds(values)
    if levels is None:
        return False
    change = (levels[2] - levels[0]) / max(abs(levels[0]), 1e-9)
    return -FLAT < change < GAIN


RULES = (damaged_by_sync, never_renewed, agrees_then_parts)
RULES_OF_SETTINGS = (asked_again, raw_log_probs)
