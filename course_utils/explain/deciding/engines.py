"""Why the engine that samples and the trainer disagree: what is printed beside their numbers."""

import re
from dataclasses import replace

from course_utils.explain.deciding.kept_tokens import of_kept_tokens
from course_utils.explain.finding import AFTER_IT, Finding
from course_utils.explain.paste.beside import Beside, Setting
from course_utils.explain.paste.log import Log
from course_utils.explain.rules.drift import NEVER_SENT
from course_utils.explain.rules.sync import AS_PROCESSED, mode_of_log_probs

_DROPOUT = re.compile(
    r"(?<![\w])(?:--)?(?:attention|hidden|attn|resid|embd)[_-]p?drop(?:out)?(?:[_-]prob)?['\"]?"
    r"[\s.=:]+0?\.0*[1-9]\d*",
    re.IGNORECASE,
)
WITH_DROPOUT = (
    "the trainer scores with dropout on, and the engine that samples has none: with the same "
    "weights the two give one token different probabilities",
    "attention and hidden dropout 0 in the trainer",
)
_QUANTISED = re.compile(
    r"\brollout[\w.]*\.quantization['\"]?\s*[=:]\s*['\"]?(?:fp8|int8|awq|gptq)\w*|"
    r"\bvllm\w*[\w. ]*quantization['\"]?\s*[=: ]\s*['\"]?(?:fp8|int8|awq|gptq|bitsandbytes)\w*",
    re.IGNORECASE,
)
_NOT_CORRECTED = re.compile(
    r"\brollout_is['\"]?\s*[=:]\s*['\"]?(?:null|none|false)\b|"
    r"\bvllm_importance_sampling_correction['\"]?\s*[=:]\s*['\"]?false\b",
    re.IGNORECASE,
)
ROUNDED_WEIGHTS = (
    "the sampler runs with weights in fewer bits than the trainer: replies are drawn from another "
    "policy than the one whose log-probs the loss takes{uncorrected}. ppo_kl and "
    "the clip fraction compare the trainer with itself and do not see it; the gap grows as the "
    "policy moves, and the run can fall apart by it",
    "sample in the format of the trainer (no quantization in the rollout), or correct for it with "
    "weights of truncated importance sampling (a threshold of 2; in verl rollout_is: token). See "
    "that the difference of the probabilities stays small",
)
COLD = 0.95  # a temperature below it moves log-probs by more than rounding does
_FUSED = re.compile(r"\b\w+_fusion\b(?=['\"]?\s*[=:]\s*true)", re.IGNORECASE)
LAST = f"line {10**9}"  # behind all of a log
_ADAPTER = re.compile(r"\blora[._](?:rank|r|merge|alpha)\W+\w+|\bpeft_config\b", re.IGNORECASE)
_MERGES = re.compile(r"\blora[._]merge\W+true\b|\bmerge_(?:lora|adapter)\W+true\b", re.IGNORECASE)
UNMERGED = (
    "An adapter is trained, and merged for the sync: where the merge is undone before the weights "
    "are sent (a list of them that is read late), the sampler gets the base again and again"
)
WITHOUT_MERGE = (
    "a newer version of the trainer, or the adapter itself sent (merge off), or the merged weights "
    "copied before the merge is undone"
)
_SLEEPS = re.compile(
    r"\b(?:vllm_)?enable_sleep_mode\b(?!['\"]?\s*[=:]\s*['\"]?(?:false|0))|\bsleep_level\W+[12]\b|"
    r"\bsleep freed\b|\bfall asleep\b|\bwake[_ ]up\b|\breload_weights\b|"
    r"\brelease_memory_occupation\b",
    re.IGNORECASE,
)
ASLEEP = (
    "The engine sleeps between samplings and gives its weights up; where it wakes after the sync, "
    "or loads them from disk again, it samples from those of the start"
)
AWAKE = (
    "switch the sleep mode off (vllm_enable_sleep_mode=False), as a test and until then; a version "
    "of the trainer that sends the weights after the engine has woken up"
)
_SENT = re.compile(r"\d+ tensors,?\s+[\d.,]+ ?[KMG]i?B")
_BASE_NORM = re.compile(r"(?P<name>[\w.]*\bbase_layer\.weight)\b\D*?(?P<norm>\d+\.\d{3,})\b")
_LOADS = re.compile(r"\bLoading weights took\b.{0,20}|\bModel loading took\b.{0,20}")


def apart(one: Finding, beside: Beside, log: Log) -> Finding:
    """A dropout of the trainer, kernels that round, or a temperature that only one divides by."""
    if found := beside.matching(_DROPOUT):
        why, advice = WITH_DROPOUT
        said = f"{found[0].where} says: {found[1]}"
        return replace(one, for_it=(*one.for_it, said), why=why, advice=f"{advice}; {one.fix}")
    if quantised := beside.matching(_QUANTISED):
        why, advice = ROUNDED_WEIGHTS
        uncorrected = _uncorrected(beside)
        said = (f"{quantised[0].where} says: {quantised[1]}", *uncorrected)
        why = why.format(uncorrected=", and nothing corrects for it" if uncorrected else "")
        return replace(one, for_it=(*one.for_it, *said), why=why, advice=advice)
    kernels = beside.all_matching(_FUSED) if log.values("token_error") else []
    if kernels:
        names = ", ".join(dict.fromkeys(words for _, words in kernels))
        said = f"{kernels[0][0].where} says: {names}"
        hint = f"run it once with these off, for kernels that round in between: {names}; {one.fix}"
        return replace(one, for_it=(*one.for_it, said), advice=hint)
    if one.advice == AS_PROCESSED:
        return one
    decided = _temperature(one, beside)
    for decide in (of_kept_tokens, _at_first):
        decided = decide(one, beside, log) if decided is one else decided
    return decided


def _uncorrected(beside: Beside) -> list[str]:
    found = beside.matching(_NOT_CORRECTED)
    return [f"{found[0].where} says: {found[1]}"] if found else []


def _at_first(one: Finding, beside: Beside, log: Log) -> Finding:
    """A printed temperature, where the two differ before any update has parted their weights."""
    sampled, ratios = beside.printed("temperature"), log.series("importance_ratio")
    apart = [*ratios[:1], *log.series("logp_difference")[:1]]
    mode = mode_of_log_probs(beside)
    if mode and "processed" in mode[1].lower():
        return one
    is_cold = sampled is not None and 0 < (sampled.number or 1) < COLD
    if not is_cold or not any(one.at is entry for entry, _ in apart):
        return one
    why = (
        f"{one.says}, in the first entry already. {sampled.written} is {sampled.value}: the engine "
        "divides its logits by it, and the log-probs that it returns are those of before, unless "
        "it is told otherwise"
    )
    advice = 'logprobs_mode="processed_logprobs" in vLLM, and one run at temperature 1 to see it'
    return replace(one, for_it=(*one.for_it, sampled.said), why=why, advice=f"{advice}; {one.fix}")


def _temperature(one: Finding, beside: Beside) -> Finding:
    changed = beside.changed()
    if changed is None or changed[1].name != "temperature":
        return one
    before, now = changed
    other = before.said_of_other_run
    if AFTER_IT in one.for_it:
        before, now, other = now, before, now.said
    return by_temperature(replace(one, for_it=(*one.for_it, other, now.said)), before, now)


def by_temperature(one: Finding, before: Setting, now: Setting) -> Finding:
    """Sampler and trainer agree at one temperature, and differ at another."""
    if one.advice == AS_PROCESSED:
        return one
    return replace(
        one,
        why=f"sampler and trainer agree at temperature {before.value} and differ at {now.value}: "
        "the sampler divides its logits by the temperature, and one of the two log-probs is taken "
        "without it",
        advice="divide the trainer's logits by the temperature as well, and let vLLM return "
        'log-probs after it (logprobs_mode="processed_logprobs")',
    )


def _same_norm(beside: Beside) -> str:
    """That a weight of the base has one norm in all lines that show it as it is sent; or ""."""
    found = [(line, _BASE_NORM.search(words)) for line, words in beside.all_matching(_BASE_NORM)]
    told = {(one["name"], one["norm"]) for _, one in found}
    if len(found) < 2 or len(told) > 1:
        return ""
    lines = ", ".join(line.where for line, _ in found[:3])
    return f"{found[0][1]['name']} has the norm {found[0][1]['norm']} each time ({lines})"


def behind(one: Finding, beside: Beside, log: Log) -> Finding:
    """A sampler that falls behind: an engine that sleeps, or an adapter that is trained."""
    found, sleeps = beside.matching(_ADAPTER), beside.matching(_SLEEPS)
    if sleeps and not one.advice:
        said = [f"{sleeps[0].where} says: {sleeps[1]}"]
        if log.entries and (loads := beside.within(log.entries[0].where, LAST).matching(_LOADS)):
            said.append(f"behind the first entry {loads[0].where} says: {loads[1]}")
        return replace(
            one,
            for_it=(*one.for_it, *said),
            why=f"{one.says}. {ASLEEP}",
            advice=f"{AWAKE}; {one.fix}",
        )
    if found is None or (one.why and one.why != NEVER_SENT):
        return one
    sent = [words for _, words in beside.all_matching(_SENT)]
    rows = (f"{found[0].where} says: {found[1]}",)
    if len(sent) > 1 and len(set(sent)) == 1:
        rows = (*rows, f"each of {len(sent)} syncs sends the same: {sent[0]}")
    if same := _same_norm(beside):
        rows = (*rows, same)
    if merged := beside.matching(_MERGES):
        rows = (*rows, f"{merged[0].where} says: {merged[1]}")
        return replace(
            one,
            for_it=(*one.for_it, *rows),
            why=f"{one.says}. {UNMERGED}",
            advice=(f"{WITHOUT_MERGE}; {one.fix}"),
        )
    return replace(
        one,
        for_it=(*one.for_it, *rows),
        why=f"{one.says}. An adapter is trained: a sync that sends the base alone leaves the "
        "sampler where it began",
        advice="let the sync send the adapter, or the merged weights (verl: lora.merge=True), "
        f"and ask the sampler which adapters it holds; {one.fix}",
    )
