"""Numbers beside the settings that are printed for their run: `rule(log, beside)`."""

import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, Setting
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, spread, thirds
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.rules.preference import LN_2
from course_utils.explain.stated.steps.rounded import OF_WEIGHTS

ANOTHER = 100.0  # times a printed rate
TORN = 1.5  # times the first loss, within the first entries
FEW, MANY = 6, 12  # entries
NEAR = 0.15  # of the accumulation: how far a ratio of two losses may be from it
TINY_RATE = 2e-6  # a step that most weights of bfloat16 round away
HARDLY = 0.02  # of a loss: how far one that does not move may move
_WARMS_UP_TO = re.compile(r"\bWarmup(?:Decay|Cosine)?LR\b")
_TOP = re.compile(r"warmup_max_lr")
DEFAULT_OF_WARMUP = 1e-3
OF_THE_SCHEDULER = (
    "the learning rate that is used is not the one that was asked for: DeepSpeed's scheduler has "
    "no warmup_max_lr, and its default of 0.001 takes the place of the optimizer's lr",
    "set warmup_max_lr (and warmup_min_lr) in the scheduler's params, or leave the scheduler out; "
    "start again from the weights of before",
)
SUMMED = (
    "the training loss is gradient_accumulation_steps times the evaluation loss of the same time: "
    "micro-batches are summed where they should be averaged, and the gradient with them"
)
OR_BETA = (
    "no gradient arrives, and policy and reference count as equal in every entry: no weight that "
    "is trained takes part in the loss, or beta is 0, which makes the loss ln 2 whatever the model "
    "says; no rule tells which",
    "print the beta that the trainer uses, and requires_grad of the weights; load an adapter with "
    "is_trainable=True",
)
_GOES_ON = re.compile(r"\bresum\w+|\b(?:to |and )?go(?:es)? on from\b|\bcontinu\w+ from\b", re.I)
_NOT_RESUMED = re.compile(r"resume_from_checkpoint['\"]?\s*[:=]\s*(?:false|none|null)", re.I)
LEARNT = 0.9  # of the first loss: the run before had learnt something
_DUMMY = re.compile(r"load_format\W{1,3}dummy\w*")
_RANK = re.compile(r"lora_rank\W{1,3}[1-9]\d*")
_OF_WEIGHTS = re.compile(r"dtype\s*=|--dtype\b|precision torch|\bpure[_-]bf16\b", re.IGNORECASE)
_KEEPS_FLOAT32 = re.compile(
    r"\b(?:q?lora|peft\w*|adapter\w*|deepspeed|zero[_-]?[123]|ds_z\w+|master\w*|amp|"
    r"mixed[_-]precision|autocast|stochastic[_ ]round\w*)\b",
    re.IGNORECASE,
)

_OF_ANOTHER_RUN = re.compile(
    r"\b(?:no|not|without|neither|instead of|friend|colleague|he|she|they|someone|others?|"
    r"works?|worked|fine|gpus)\b|n't\b",
    re.IGNORECASE,
)
_IN_FLOAT32 = re.compile(
    r"(?:\b(?:float32|fp32|deepspeed|zero-?[123]|master)\b|\.float\(\)).{0,80}"
    r"\b(?:works?|learns?|moves?|falls?|drops?|fine|(?:loss|to|has)\W+0\.[1-6]\d*)\b|"
    r"\b(?:works?|learns?|moves?|falls?|same)\b.{0,60}\b(?:in|with|under)\b.{0,20}"
    r"(?:\b(?:float32|fp32|deepspeed|zero-?[123])\b|\.float\(\))",
    re.IGNORECASE,
)
NOT_A_LARGER_RATE = (
    "keep the weights that are trained in float32 (load them so, or an optimizer with a float32 "
    "copy, as DeepSpeed's and FSDP's mixed precision have) and compute in bfloat16 (bf16=True, "
    "autocast); or round stochastically. A larger rate moves a few weights alone and breaks the "
    "policy"
)


def rate_not_asked(log: Log, beside: Beside) -> Finding | None:
    """The rate of the log is 100 times every one that is printed, or stands at a 100th of them."""
    known = [one for one in beside.of("learning_rate") if one.number]
    printed = [one for one in known if not _is_told(one)]
    series = [(e, v) for e, v in log.series("learning_rate") if math.isfinite(v) and v > 0]
    if not printed or not series:
        return None
    asked, rates = [one.number for one in known], [rate for _, rate in series]
    above = next((e for e, v in series if v >= ANOTHER * max(asked)), None)
    stands = len(rates) >= FEW and min(rates) == max(rates) <= min(asked) / ANOTHER
    if above is None and not stands:
        return None
    entry = above or series[0][0]
    nearest = max(printed, key=lambda one: one.number) if above else printed[-1]
    proof = [f"{entry.where}: {said(entry, 'learning_rate')}", nearest.said]
    proof += _torn(log) if above else []
    scheduler = beside.matching(_WARMS_UP_TO)
    is_default = math.isclose(entry.numbers["learning_rate"], DEFAULT_OF_WARMUP)
    if not scheduler or not is_default or beside.matching(_TOP):
        return Finding("rate_not_asked", 8.0, entry, tuple(proof))
    proof.append(f"{scheduler[0].where} says: {scheduler[1]}, and no warmup_max_lr is printed")
    why, advice = OF_THE_SCHEDULER
    return Finding("rate_not_asked", 8.0, entry, tuple(proof), why=why, advice=advice)


def _torn(log: Log) -> list[str]:
    """How the first losses climb, if they do."""
    losses = [(e, v) for e, v in log.series("loss")[:FEW] if math.isfinite(v)]
    if not losses:
        return []
    (first, low), (worst, high) = losses[0], max(losses, key=lambda pair: pair[1])
    if high <= TORN * low:
        return []
    return [f"{said(first, 'loss')} at {first.where}, {said(worst, 'loss')} at {worst.where}"]


def _is_told(setting: Setting) -> bool:
    """Whether a setting stands in somebody's sentence, which may be about another run."""
    return is_prose(setting.line.text)


def micro_batches_summed(log: Log, beside: Beside) -> Finding | None:
    """Training loss by evaluation loss is an accumulation that is told, wherever both are known."""
    settings, pairs = beside.of("accumulation"), _pairs(log)
    if len(pairs) < 2:
        return None
    ratios = [loss / entry.numbers["eval_loss"] for entry, loss in pairs]
    told = (one for one in settings if (one.number or 0) >= 2)
    fits = (one for one in told if all(abs(r / one.number - 1) <= NEAR for r in ratios))
    if (setting := next(fits, None)) is None:
        return None
    entry, loss = pairs[-1]
    proof = (
        f"training loss by eval_loss is {min(ratios):.3g} to {max(ratios):.3g} in all "
        f"{len(pairs)} evaluations; {loss:.4g} by {said(entry, 'eval_loss')} at {entry.where}",
        setting.said,
    )
    return Finding("loss_off_by_a_factor", 7.0, entry, proof, why=SUMMED)


def _pairs(log: Log) -> list[tuple[Entry, float]]:
    """Each evaluation with the training loss before it, or the first one behind it."""
    last = next((v for v in log.values("loss") if math.isfinite(v)), math.nan)
    pairs = []
    for entry in log.entries:
        last = entry.numbers.get("loss", last)
        if 0.01 < entry.numbers.get("eval_loss", math.nan) < math.inf and math.isfinite(last):
            pairs.append((entry, last))
    return pairs


def beta_zero(log: Log, beside: Beside) -> Finding | None:
    """Both rewards of DPO are exactly 0 in every entry: beta is, if it is printed as 0."""
    rewards = log.values("chosen_reward") + log.values("rejected_reward")
    losses, norms = finite(log.values("loss")), log.values("grad_norm")
    if len(log.values("chosen_reward")) < 3 or any(rewards) or any(norms):
        return None
    if any(abs(loss - LN_2) > 1e-3 for loss in losses):
        return None
    entry, _ = log.series("chosen_reward")[0]
    shown = [n for n in ("chosen_reward", "rejected_reward", "grad_norm") if n in entry.numbers]
    proof = [f"{said(entry, *shown)} in all {len(rewards) // 2} entries"]
    if spread(log.values("chosen_logp")):
        proof.append(f"log-probs of the chosen replies differ: {_range(log, 'chosen_logp')}")
    betas = [one for one in beside.of("beta") if "beta" in one.written and one.number is not None]
    if betas and betas[-1].number == 0:
        return Finding("beta_zero", 8.0, entry, (*proof, betas[-1].said))
    if betas or not norms:
        return None
    why, advice = OR_BETA
    return Finding("no_gradient", 7.8, entry, tuple(proof), why=why, advice=advice)


def _range(log: Log, name: str) -> str:
    values = finite(log.values(name))
    return f"{min(values):.4g} to {max(values):.4g}"


def rounded_in_bfloat16(log: Log, beside: Beside) -> Finding | None:
    """All weights are in bfloat16, the rate is tiny, and the loss hardly moves."""
    formats = [one for one in beside.of("dtype") if _OF_WEIGHTS.search(one.line.text)]
    rates = finite(log.values("learning_rate"))
    losses, levels = finite(log.values("loss")), thirds(log.values("loss"))
    if log.kind() != "supervised" or levels is None or len(losses) < MANY or not rates:
        return None
    if not formats or formats[-1].meant != "bfloat16" or beside.matching(_KEEPS_FLOAT32):
        return None
    if not 0 < max(rates) <= TINY_RATE or abs(levels[2] - levels[0]) > HARDLY * abs(levels[0]):
        return None
    entry = log.series("loss")[0][0]
    proof = (
        formats[-1].said,
        f"learning_rate up to {max(rates):.2g}: a step of that size moves no weight above "
        f"{256 * max(rates):.2g}; all others round back",
        f"the loss by thirds of the log: {listed(levels)}",
    )
    against = ("weights that are kept in float32 elsewhere would move; the log names none",)
    return Finding("rounding_swallows", 5.5, entry, proof, against)


def pairs_rounded_in_bfloat16(log: Log, beside: Beside) -> Finding | None:
    """Pairs are at ln 2 in all entries, gradients arrive, and all weights are in bfloat16."""
    named = (one for one in beside.all_matching(OF_WEIGHTS) if not is_prose(one[0].text))
    kept, losses = next(named, None), finite(log.values("loss"))
    rates, norms = finite(log.values("learning_rate")), finite(log.values("grad_norm"))
    rates = rates or [one.number for one in beside.of("learning_rate") if one.number]
    if kept is None or log.kind() != "preference" or len(losses) < FEW or not any(norms):
        return None
    if not rates or not 0 < max(rates) <= TINY_RATE or _keeps_float32(beside):
        return None
    if max(abs(loss - LN_2) for loss in losses) > HARDLY * LN_2:
        return None
    entry = log.series("loss")[-1][0]
    proof = [
        f"{kept[0].where} says: {kept[1]}",
        f"learning_rate up to {max(rates):.2g}: a step of that size moves no weight above "
        f"{256 * max(rates):.2g}; all others round back",
        f"the loss from {min(losses):.4g} to {max(losses):.4g} in {len(losses)} entries; ln 2 is "
        f"0.6931; gradients arrive: grad_norm up to {max(norms):.3g}",
    ]
    if learnt := _learns_in_float32(beside):
        proof.append(learnt)
        return Finding("rounding_swallows", 7.5, entry, tuple(proof), advice=NOT_A_LARGER_RATE)
    against = ("weights that are kept in float32 elsewhere would move; the log names none",)
    of = ("rounding_swallows", 6.2, entry, tuple(proof), against)
    return Finding(*of, advice=NOT_A_LARGER_RATE)


def _keeps_float32(beside: Beside) -> bool:
    """Whether a float32 copy, or an adapter, is named for this run and not for another one."""
    named = (line.text for line, _ in beside.all_matching(_KEEPS_FLOAT32))
    return any(not (is_prose(text) and _OF_ANOTHER_RUN.search(text)) for text in named)


def _learns_in_float32(beside: Beside) -> str:
    """A sentence that says how the run learns once its weights are kept in float32."""
    for line in beside.words:
        if is_prose(line.text) and _IN_FLOAT32.search(line.text):
            return line.says
    return ""


def engine_of_random_weights(log: Log, beside: Beside) -> Finding | None:
    """The engine begins with random weights, and is sent an adapter alone."""
    dummy, adapter = beside.matching(_DUMMY), beside.matching(_RANK)
    rewards = log.series("reward")
    if not dummy or not adapter or not rewards or any(value for _, value in rewards):
        return None
    entry = rewards[0][0]
    proof = (
        *(f"{line.where} says: {text}" for line, text in (dummy, adapter)),
        f"{said(entry, 'reward')} in all {len(rewards)} entries",
    )
    return Finding("engine_base_random", 8.8, entry, proof)


def begins_anew(log: Log, beside: Beside) -> Finding | None:
    """A run that is said to go on starts with the step and the loss of the one before it."""
    told = (line for line in beside.words if is_prose(line.text))
    found = ((line, _GOES_ON.search(line.text)) for line in told)
    spoken = next(((line, words[0]) for line, words in found if words), None)
    if not log.earlier or spoken is None:
        return None
    before, now = (run.series("loss")[:FEW] for run in (log.earlier[-1], log))
    learnt = finite(log.earlier[-1].values("loss"))
    if len(before) < FEW or len(now) < 2 or learnt[-1] > LEARNT * learnt[0]:
        return None
    (first, loss), (entry, again) = before[0], now[0]
    steps = [one.numbers.get("step") for one in (first, entry)]
    if steps[0] != steps[1] or abs(again / loss - 1) > NEAR or steps[0] is None:
        return None
    proof = [
        f"{entry.where}: {said(entry, 'step', 'loss')}; {first.where}: "
        f"{said(first, 'step', 'loss')}; the run before had come to {learnt[-1]:.4g}",
        f"{spoken[0].where} says: {spoken[1]}",
    ]
    if loaded := beside.matching(_NOT_RESUMED):
        proof.append(f"{loaded[0].where} says: {loaded[1]}")
    return Finding("begun_anew", 8.0, entry, tuple(proof))


RULES = (
    begins_anew,
    rate_not_asked,
    micro_batches_summed,
    beta_zero,
    rounded_in_bfloat16,
    pairs_rounded_in_bfloat16,
    engine_of_random_weights,
)
