"""Tokens that a setting puts into the loss, or takes out of it: `rule(log, beside)`."""

import math
import re
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, thirds, trend

_FUSED = re.compile(r"\buse_liger_(?:kernel|loss|grpo_loss)['\"]?\s*[=:]\s*['\"]?true\b", re.I)
_TOOLS = re.compile(
    r"\btools\s*=\s*\[|\bmax_tool_calling_iterations\b|\bmulti_turn\w*\W{1,4}(?:true|enable)|"
    r"<tool_(?:call|response)>|\benvironment_factory\b",
    re.IGNORECASE,
)
_LAST_STEP = re.compile(r"\btrain_on_last_step_only['\"]?\s*[=:]\s*['\"]?true\b", re.IGNORECASE)
_BY_PLACE = re.compile(
    r"^\W*(?:\d+ )?(?:(?P<last>(?:final|last) step)|last but one|(?:or more )?(?:steps? )?before "
    r"the (?:end|last)|intermediate\w*|earlier steps?|first steps?)\b.*\d\.\d+\W*$",
    re.IGNORECASE,
)
_ID = (
    r"(?:convert_tokens_to_ids\(\s*['\"](?P<token{0}>[^'\"]+)['\"]\)|"
    r"\w*(?:eos|eot|im_end|end)\w*_ids?\b)"
)
_APPENDS = re.compile(
    r"\b(?:(?P<a>\w+)\s*=\s*(?P=a)\s*\+|(?P<b>\w+)\s*\+=)\s*\[?[\w.]*?" + _ID.format("") + r"|"
    r"\b(?P<c>\w+)\.(?:append|extend)\(\[?[\w.]*?" + _ID.format("_b")
)
_MASK_OF_ALL = (
    r"\b(?!att)\w*mask\w*(?:\[\w+\])?\s*(?:\+=|=|\.extend\()[^#]*\[1(?:\.0)?\]\s*\*\s*len\({0}\)"
)
_DUMPED = re.compile(
    r"['\"](?P<token>[^'\"]+)['\"]\s+(?P<logp>-\d+(?:\.\d+)?)\s+(?P<reference>-\d+(?:\.\d+)?)\b"
)
NEAR, FEW_ROWS = 8, 3  # lines of code; of a dump
JUMPS, LESS = 3.0, 0.5  # times the norms before; of the calls
FUSED_COUNTS = (
    "the loss counts the tool results that stand in a completion: the fused loss of this setting "
    "is given the mask of the completion and not that of the tools, so that the model learns to "
    "write results itself and calls no tool"
)
UNFUSED = (
    "use_liger_kernel=False, or a version of TRL whose fused loss takes the tool mask (trl#4975); "
    "go on from a checkpoint before the setting was on, and save memory in another way (a smaller "
    "micro-batch, shorter tool results)"
)


def tool_results_counted(log: Log, beside: Beside) -> Finding | None:
    """A fused loss beside tools; the calls die out, and the gradient jumps or the reward falls."""
    fused, tools, calls = beside.matching(_FUSED), beside.matching(_TOOLS), log.series("tool_calls")
    levels = thirds([value for _, value in calls])
    if log.kind() != "policy" or fused is None or (tools is None and not calls) or levels is None:
        return None
    jump, rewards = _jump(log), thirds(log.values("reward"))
    falls = rewards is not None and rewards[2] < 0.9 * max(rewards[:2])
    if not 0 <= levels[2] < LESS * levels[0] or not (jump or falls):
        return None
    first, last = calls[0][0], calls[-1][0]
    proof = [f"{fused[0].where} says: {fused[1]}", *(jump[1:] if jump else ())]
    proof.append(
        f"{said(first, 'tool_calls')} at {first.where}, {said(last, 'tool_calls')} at {last.where}"
    )
    proof += [f"the reward by thirds of the log: {listed(rewards)}"] if falls else []
    weight, turned = (8.5, jump[0]) if jump else (6.5, first)
    why, advice = FUSED_COUNTS, UNFUSED
    return Finding("tool_results_learnt", weight, turned, tuple(proof), why=why, advice=advice)


def forced_token_counted(log: Log, beside: Beside) -> Finding | None:
    """Code appends a token to what was sampled and gives all of it the mask 1; the run breaks."""
    lines = beside.words if log.kind() == "policy" else []
    for number, line in enumerate(lines):
        if not (appended := _APPENDS.search(line.text)):
            continue
        ids = next(name for name in appended.group("a", "b", "c") if name)
        counts = re.compile(_MASK_OF_ALL.format(re.escape(ids)))
        mask = next(
            (one for one in lines[number + 1 : number + NEAR] if counts.search(one.text)), None
        )
        token = next((name for name in appended.group("token", "token_b") if name), "")
        dump, broken = _drifts(lines, token), _breaks(log)
        if mask is None or not (dump or broken):
            continue
        proof = (
            f"{line.where} says: {line.text.strip()}",
            f"{mask.where} says: {mask.text.strip()}",
            *dump,
            *broken,
        )
        return Finding("forced_token_learnt", 8.8, mask, proof)
    return None


def _drifts(lines: list[Line], token: str) -> list[str]:
    """How the log-prob of that token falls in rows that are dumped: token, policy, reference."""
    rows = [(line, found) for line in lines if (found := _DUMPED.search(line.text))]
    mine = [(line, found) for line, found in rows if token and found["token"].strip() == token]
    if len(mine) < FEW_ROWS or not float(mine[-1][1]["logp"]) < 2 * float(mine[0][1]["logp"]) < 0:
        return []
    (first, a), (last, b) = mine[0], mine[-1]
    return [
        f"its log-prob is {a['logp']} at {first.where} and {b['logp']} at {last.where}, that of "
        f"the reference {a['reference']} and {b['reference']}"
    ]


def _breaks(log: Log) -> list[str]:
    """The first entry in which the run is not finite, if it was before."""
    for name in ("grad_norm", "policy_loss", "kl_loss", "loss"):
        series = log.series(name)
        at = next((n for n, (_, value) in enumerate(series) if not math.isfinite(value)), 0)
        if at:
            return [f"{said(series[at][0], name)} at {series[at][0].where}"]
    return []


def _jump(log: Log) -> tuple[Entry, str] | None:
    """Where the gradient is from one entry to the next several times as long as all before it."""
    series = log.series("grad_norm")
    for number in range(2, len(series) - 1):
        before = median(value for _, value in series[:number])
        if before > 0 and min(value for _, value in series[number : number + 2]) > JUMPS * before:
            (last, _), (entry, _) = series[number - 1 : number + 1]
            return entry, (
                f"{said(last, 'grad_norm')} at {last.where}, {said(entry, 'grad_norm')} at "
                f"{entry.where}, and {before:.3g} in the median before it"
            )
    return None


def last_step_alone(log: Log, beside: Beside) -> Finding | None:
    """Only last steps are learnt; the loss falls, and the evaluation of all steps gets worse."""
    setting, losses = beside.matching(_LAST_STEP), trend(log.values("loss"))
    judged, hits = thirds(log.values("eval_loss")), finite(log.values("eval_accuracy"))
    if setting is None or losses is None or losses[2] > losses[0] or judged is None:
        return None
    if judged[2] <= judged[0] or (hits and max(hits[1:], default=0) > hits[0] + 0.02):
        return None
    entry = log.series("eval_loss")[0][0]
    last = log.series("eval_loss")[-1][0]
    shown = [n for n in ("eval_loss", "eval_accuracy") if n in entry.numbers and n in last.numbers]
    proof = [
        f"{setting[0].where} says: {setting[1]}",
        f"the training loss falls: {listed(losses)} by thirds; {said(entry, *shown)} at "
        f"{entry.where}, {said(last, *shown)} at {last.where}",
        *_by_place(beside),
    ]
    return Finding("last_step_alone", 8.5, entry, tuple(proof))


def _by_place(beside: Beside) -> list[str]:
    """The rows of a table that judges the last step, and one before it."""
    found = [(line, one) for line in beside.words if (one := _BY_PLACE.search(line.text))]
    last = [line for line, one in found if one["last"]]
    others = [line for line, one in found if not one["last"]]
    if not last or not others:
        return []
    return [f"{line.where} says: {' '.join(line.text.split())}" for line in (last[0], others[0])]


RULES_OF_SETTINGS = (tool_results_counted, last_step_alone, forced_token_counted)
