"""A run that stands still, as its writer says: the numbers before it are not to blame."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line

_HANGS = re.compile(
    r"\b(?:hangs?|hung|hanging|deadlock(?:s|ed)?|stops? responding)\b|"
    r"\u5361\u4f4f|\u5361\u6b7b|\u6ca1\u6709\u52a8\u9759|\u4e0d\u52a8\u4e86",
    re.IGNORECASE,
)
_STANDS = re.compile(  # said of a number or of weights as well
    r"\b(?:freezes?|froze|frozen|stuck|stall(?:s|ed)?|stands? still|stood (?:there|still)|"
    r"nothing (?:more |else )?happens|no (?:further |more )?progress|"
    r"(?:does|do|did)(?: not|n't) (?:move|advance|proceed))\b",
    re.IGNORECASE,
)
_ANY = re.compile(f"{_HANGS.pattern}|{_STANDS.pattern}", re.IGNORECASE)
_OF_A_NUMBER = re.compile(
    r"\b(?:loss\w*|rewards?|accurac\w+|metrics?|kl|margins?|scores?|entropy|norms?|rates?|lrs?|"
    r"schedul\w+|scales?|perplexity|ppl|curves?|values?|f1|weights?(?! sync)|param\w*|"
    r"learning|quality|model|policy|RM|PRM|memory|[MG]i?B|usage)\b[^.;]{0,40}$",
    re.IGNORECASE,
)
_SO_LONG = re.compile(  # what is said of time, or of silence, where no step comes any more
    r"\b(?:for|after|over|until|within) (?:the )?(?:\w+ ){0,2}?(?:\d+\+? ?(?:s|sec|min|h|hr)|"
    r"(?:seconds|minutes|hours|days|ages|good)\b)|\b\d+ (?:seconds|minutes|hours|days)\b|"
    r"\b(?:an?|the last|one) (?:hour|minute|day|night)\b|\bsince\b|\bforever\b|\bindefinitely\b|"
    r"\bovernight\b|\b(?:ctrl|kill\w*|py-spy|watchdog|no output|time-?outs?)\b|"
    r"\b(?:nothing|no line) (?:is|was|gets) (?:printed|written|logged)\b",
    re.IGNORECASE,
)
_OF_A_PROCESS = re.compile(
    r"\b(?:the|my|our|this|whole|each|every|all) (?:\w+ )?(?:jobs?|run|training|process(?:es)?|"
    r"program|script|trainer|ranks?)(?:,? (?:is|are|was|gets?|got|just|has|have|been|will|then|"
    r"simply|always|suddenly|completely|seems?|to|and))*\s*$",
    re.IGNORECASE,
)
_AT_A_SHARE = re.compile(r"\s*at ~?\d+(?:\.\d+)? ?%")
_GOES_ON = re.compile(  # a pause between two of its steps
    r"^\s*(?:\w+ ){0,2}?(?:between (?:two|some|the|consecutive|single) steps|"
    r"for (?:a|one|two|some|several|a few) (?:steps?|updates?)\b|now and then|at times)",
    re.IGNORECASE,
)
_NOT_SO = re.compile(
    r"\b(?:not|never|no longer|avoid|may|might|could|can|if|potential|possible|"
    r"prevent|would|used to|(?:bet|guess|theory|suspicion) is)"
    r"\b[^.]{0,25}$|n't\s+$",
    re.IGNORECASE,
)
_AT_STEPS = re.compile(  # a step or a range of them, which a curve has and a standstill has not
    r"\s*(?:[a-z]+ ){0,2}?(?:at|around|near|between|from|about|after) (?:the )?~?"
    r"(?:(?:steps?|updates?|iter\w*) ~?(?:\d+ ?(?:-|to|and) ?)?|\d+ ?(?:-|to|and) ?)(\d{2,})\b"
    r"(?! ?(?:s\b|sec|min|h\b|hour|%|\.\d|epoch|GPU|node|rank|[GM]i?B))",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\bNCCL\b|\b(?:[2-9]|[1-9]\d+|two|three|four|six|eight|sixteen|multi(?:ple)?|other|all)[ -]*"
    r"(?:x ?)?(?:\w+ )?(?:GPUs?|cards?|ranks?|nodes?|processes|workers)\b|"
    r"\b[2-9]\d*\s?x\s?[AHLVB]\d+|\bdeepspeed\b|\btorchrun\b|\bFSDP2?\b|\bworld[_ ]size\b|"
    r"accelerate launch|\bDDP\b|"
    r"\[rank ?\d+\]|\brank ?[1-9]\b|\u591a\u5361|\u4e2a\u5361",
    re.IGNORECASE,
)
_IDLE = re.compile(
    r"[^.;,\n]{0,70}\b0 ?%[^.;\n]{0,40}|[^.;,\n]{0,70}\b100 ?%[^.;|\n]{0,40}", re.IGNORECASE
)
_IS_LOAD = re.compile(r"\b(?:GPUs?|cards?|util\w*|SM)\b|\u5229\u7528\u7387", re.IGNORECASE)
ALONE = re.compile(
    r"[^.;\n]{0,60}\b(?:single|one|1)[ -](?:GPU|card|process|node)\b[^.;\n]{0,50}\b(?:works?|fine|"
    r"ok|normal\w*|runs?)\b|\u4e00\u5757\u5361[^\n]{0,20}\u6b63\u5e38",
    re.IGNORECASE,
)
_WAITS = (
    "the run stands still: one process does not come to where the others wait for it (a "
    "collective, the sampler, a weight sync, a file); which one and where is not in the log"
)
_STACKS = (
    "take the stack of every process while it stands (py-spy dump --pid PID), the idle one first, "
    "and run with TORCH_DISTRIBUTED_DEBUG=DETAIL NCCL_DEBUG=INFO; the numbers before it "
    "are no cause"
)
SURE, BEYOND = 6.6, 1.1  # times the step at which a run is said to stand


def standstill(beside: Beside) -> Iterator[Finding]:
    """What is said of a run that does not go on, and what speaks for several processes."""
    line, words = _said_so(beside)
    if line is None:
        return
    proof = [f"{line.where} says: {words}"]
    several = beside.matching(_SEVERAL)
    for found in (_load(beside), beside.matching(ALONE)):
        if found:
            proof.append(f"{found[0].where} says: {found[1].strip()[:MAX_QUOTE]}")
    if beside.last is not None:
        proof.append(f"the last entry is {beside.last.where}")
    if several is None:
        yield Finding("stands_still", SURE, line, tuple(proof))
    else:
        if len(proof) == 1:
            proof.append(f"{several[0].where} says: {several[1]}")
        yield Finding("ranks_disagree", SURE, line, tuple(proof), why=_WAITS, advice=_STACKS)


def _said_so(beside: Beside) -> tuple[Line | None, str]:
    is_idle = _load(beside) is not None
    for line in beside.told():
        is_long = is_idle or bool(_SO_LONG.search(line.text))
        for found in _ANY.finditer(line.text):
            before, after = line.text[: found.start()], line.text[found.end() :]
            if _NOT_SO.search(before) or _GOES_ON.match(after) or _went_on(after, beside):
                continue
            is_sure = is_long or bool(_HANGS.match(found[0]))
            if _is_of_the_run(before, after, is_sure=is_sure):
                start = max(0, found.start() - 40)
                return line, line.text[start : found.end() + 60].strip()
    return None, ""


def _went_on(after: str, beside: Beside) -> bool:
    """Whether the run has passed the step at which it is said to stand."""
    at = _AT_STEPS.match(after)
    return bool(at) and beside.last_step > BEYOND * float(at[1])


def _is_of_the_run(before: str, after: str, *, is_sure: bool) -> bool:
    """Whether a process is said to stand, or surely something else than a number."""
    if _OF_A_PROCESS.search(before):
        return True
    return is_sure and not _OF_A_NUMBER.search(before) and not _AT_A_SHARE.match(after)


def _load(beside: Beside) -> tuple[Line, str] | None:
    """What is said of the load of the GPUs."""
    for line in beside.told():
        found = _IDLE.search(line.text)
        if found and _IS_LOAD.search(line.text):
            return line, found[0]
    return None
