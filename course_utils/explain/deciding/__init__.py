"""What stands beside the numbers decides between the things that a cause may be.

Each function takes a finding and what stands beside it, and gives a sharper one, or the same.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from course_utils.explain.deciding import (
    adapter_keys,
    allocations,
    anchors,
    checkpoints,
    engines,
    experts,
    image_tokens,
    kept_reference,
    killed,
    one_output,
    prompts,
    recited,
    resumed,
    schedules,
    sharded_rows,
    tokens,
    verifiers,
    zero_gradient,
)
from course_utils.explain.finding import Finding
from course_utils.explain.messages import rank_loops, rank_paths
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said as quoted
from course_utils.explain.paste.sampled_at import sampled_at
from course_utils.explain.rules.nonfinite import BOUND_ODDS, OF_ODDS

_KEPT_IN_BFLOAT16 = re.compile(r"dtype['\"]?\s*[:=]\s*['\"]?(?:torch\.)?bfloat16", re.IGNORECASE)
_RUN_IN_FLOAT16 = re.compile(
    r"dtype['\"]?\s*[:=]\s*['\"]?(?:torch\.)?(?:float16|fp16|half)\b|\.half\(\)", re.IGNORECASE
)
HIGH_RATE, HIGH_LIMIT = 5e-6, 10.0  # of a policy whose weights are all trained; of a norm
NEARLY_SURE = 0.05  # nats: a log-prob that soon reaches 0
_OVERLAPS = re.compile(r"overlap_comm['\"]?\s*[:=]\s*true", re.IGNORECASE)
_STAGE_2 = re.compile(r"zero_?2\b|[\"']?stage[\"']?\s*[:=]\s*2\b|zero_stage\W+2\b", re.IGNORECASE)
RACE = (
    ". ZeRO-2 with overlap_comm is known to do that: a bucket of gradients is read while it is "
    "still being filled"
)
ON = {"true", "1", "1.0"}


def decided(one: Finding, beside: Beside, log: Log) -> Finding:
    """The finding with what the settings, shapes and sentences beside it say of it."""
    name = one.cause.beside
    return _BY_NAME[name](one, beside, log) if name else one


def _odds(one: Finding, beside: Beside, log: Log) -> Finding:
    """A nan behind log1p in a run of ORPO, whose odds take log(1 - p)."""
    if "Log1PBackward" not in one.at.text or "log_odds" not in log.fields:
        return one
    logps = log.series("chosen_logp")
    if not logps or not -NEARLY_SURE < logps[-1][1] <= 0:
        return replace(one, why=OF_ODDS, advice=BOUND_ODDS)
    (first, _), (last, _) = logps[0], logps[-1]
    said_so = (
        f"{quoted(first, 'chosen_logp')} at {first.where}, {quoted(last, 'chosen_logp')} at "
        f"{last.where}: the chosen replies are all but certain"
    )
    return replace(one, for_it=(*one.for_it, said_so), why=OF_ODDS, advice=BOUND_ODDS)


def _half(one: Finding, beside: Beside, log: Log) -> Finding:
    """nan beside a bfloat16 model that is run in float16, beside float16, or in ZeRO's buckets."""
    raced, stage = beside.matching(_OVERLAPS), beside.matching(_STAGE_2)
    if raced and stage:
        said = tuple(f"{line.where} says: {words}" for line, words in (raced, stage))
        hint = f"overlap_comm: false first, or stage 3; {one.fix}"
        return replace(one, for_it=(*one.for_it, *said), why=f"{one.says}{RACE}", advice=hint)
    kept, run = beside.matching(_KEPT_IN_BFLOAT16), beside.matching(_RUN_IN_FLOAT16)
    if kept and run:
        said = tuple(f"{line.where} says: {words}" for line, words in (kept, run))
        return replace(
            one,
            for_it=(*one.for_it, *said),
            why="a model made in bfloat16 is loaded in float16: what it computes leaves the range "
            "of float16 (65504), and the numbers are nan from the first batch on",
            advice='load it in its own format (torch_dtype="auto" or bfloat16), or in float32',
        )
    on = next((s for s in beside.of("fp16") if s.value in ON), None)
    if on is None or any(s.value in ON for s in beside.of("bf16")):
        return one
    hint = f"{one.fix}; the run is in float16: try bf16, or float32, before anything else"
    return replace(one, for_it=(*one.for_it, on.said), advice=hint)


def _metric(one: Finding, beside: Beside, log: Log) -> Finding:
    """A nan of the evaluation alone, where rows are cut over processes, or float16 is on."""
    cut = sharded_rows.told(one, beside, log)
    return _half(one, beside, log) if cut is one else cut


def _waits(one: Finding, beside: Beside, log: Log) -> Finding:
    """Processes in different code, or that gather the weights of other experts."""
    told = rank_paths.decided_alone(experts.apart(one, beside, log), beside)
    alone = rank_paths.model_on_one_rank(told, beside)
    return alone if alone.why else rank_loops.loop_left_alone(alone, beside)


def _no_signal(one: Finding, beside: Beside, log: Log) -> Finding:
    """A right answer that is not paid; a part with a spread over the batch and none within a
    group; how replies are sampled."""
    if one.advice:
        return one  # it is told already what makes them alike
    if (unpaid := verifiers.unpaid(one, beside, log)) is not one:
        return unpaid
    spread = next(((e, v) for e, v in log.series("part_std") if v > 0), None)
    proof = list(one.for_it)
    if spread and spread[0].numbers.get("reward_std") == 0:
        name = spread[0].names["part_std"]
        proof.append(
            f"{spread[0].where}: {name} {spread[1]:.3g} is over the whole batch, so between "
            "prompts; reward_std 0 is within each group, and that alone teaches"
        )
    sampled = sampled_at(beside)
    if sampled is None or not 0 < (sampled.number or 1) < 0.7:
        return replace(one, for_it=tuple(proof))
    return replace(
        one,
        for_it=(*proof, sampled.said),
        advice=f"sample at a temperature near 1 ({sampled.value} leaves the replies of a group "
        "alike), a reward with finer steps, prompts neither too easy nor too hard",
    )


def _memory(one: Finding, beside: Beside, log: Log) -> Finding:
    told = allocations.told(one, beside)
    return replace(one, for_it=(*one.for_it, *told.proof), why=told.why, advice=told.advice)


def _shapes(one: Finding, beside: Beside, log: Log) -> Finding:
    if (told := checkpoints.shapes(beside)) is None:
        return one
    line, shown, why, advice = told
    return replace(one, at=line, for_it=(f"{line.where}: {shown}",), why=why, advice=advice)


def _random(one: Finding, beside: Beside, log: Log) -> Finding:
    """A rate or a limit of the gradients that is far above what such runs have."""
    rate, limit = beside.printed("learning_rate"), beside.printed("max_grad_norm")
    is_whole = beside.matching(tokens.ADAPTER) is None
    far = [rate] if is_whole and rate and (rate.number or 0) >= HIGH_RATE else []
    far += [limit] if limit and (limit.number or 0) >= HIGH_LIMIT else []
    if not far:
        return one
    named = " and ".join(f"{setting.written} {setting.value}" for setting in far)
    return replace(
        one,
        for_it=(*one.for_it, *dict.fromkeys(setting.said for setting in far)),
        why=f"{one.says}; with {named} each update goes far from the policy that sampled",
        advice="a learning rate of about 1e-6 where all weights are trained, gradients clipped to "
        "a norm of 1; restart before the entropy turned",
    )


_BY_NAME: dict[str, Callable[[Finding, Beside, Log], Finding]] = {
    "format": _half,
    "metric": _metric,
    "prompts": prompts.cut,
    "experts": _waits,
    "length": tokens.masked,
    "temperature": engines.apart,
    "groups": _no_signal,
    "odds": _odds,
    "adapter": engines.behind,
    "cut off": zero_gradient.lost,
    "allocation": _memory,
    "shapes": _shapes,
    "partitioned": checkpoints.partitioned,
    "positions": tokens.positions,
    "template": tokens.bare,
    "padding": tokens.padding,
    "killed": killed.sent_by,
    "reference": kept_reference.of_another_model,
    "adapter on a base": tokens.untrained_end,
    "updates": _random,
    "schedule": schedules.planned,
    "processes": schedules.stepped_by_each,
    "resume": resumed.ruled_out,
    "verifier": verifiers.unparsed,
    "images": image_tokens.cut,
    "names": adapter_keys.apart,
    "wrapped twice": adapter_keys.wrapped_twice,
    "anchor": anchors.unheld,
    "by heart": recited.by_heart,
    "one output": one_output.argmax_of_one,
}
