"""A run that stands still, as its writer says: the numbers before it are not to blame."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, NO_METRIC, Entry, Line

_PARTS = (  # of a model, which are frozen on purpose
    r"\s+(?:[\w-]+ ){0,2}?(?:vectors?|embeddings?|encoders?|backbones?|base|layers?|features?|"
    r"weights?|towers?|models?|param(?:eter)?s?|llm|lm|ref(?:erence)?|teachers?|trunk|body|copy|"
    r"\w*bert\w*|tests?|batch(?:es)?|checkpoints?|snapshots?|data|rows|samples?|prompts|policy|"
    r"pass(?:es)?|forwards?)\b"
)
_STANDS = re.compile(
    r"\b(?:hangs?|hung|hanging|deadlock(?:s|ed)?|freezes|freeze(?! \w)|freeze(?= (?:at|after|on|in|"
    r"during|for|when|while|before|again|and|or|once|right|there|every|sometimes|randomly|forever|"
    rf"indefinitely|mid\w*)\b)|frozen(?!{_PARTS})|froze|(?:gets? |got )?stuck|"
    r"stall(?:s|ed)?|stands? still|stood (?:there|still)|standstill|nothing (?:more |else )?"
    r"happens|no (?:further |more )?progress|(?:does|do|did)(?: not|n't) (?:move|advance|proceed)|"
    r"stops? responding)\b|\u5361\u4f4f|\u5361\u6b7b|\u6ca1\u6709\u52a8\u9759|\u4e0d\u52a8\u4e86",
    re.IGNORECASE,
)
_OF_A_NUMBER = re.compile(
    r"\b(?:loss\w*|rewards?|accurac\w+|metrics?|kl|margins?|scores?|entropy|norms?|rates?|lrs?|"
    r"schedul\w+|scales?|perplexity|ppl|curves?|values?|f1|"
    r"learning|quality|model|RM|PRM|memory|[MG]i?B|usage)\b[^.;]{0,40}$",
    re.IGNORECASE,
)
_KEPT_FIXED = re.compile(  # "frozen copy of init", "ref: frozen": weights that are meant to rest
    r"\s*(?:cop(?:y|ies)|snapshot|ref\w*|init\w*|base|backbone|trunk|weights?|param\w*|embed\w*|"
    r"encoders?|towers?|layers?|blocks?|critic|polic(?:y|ies)|teacher|judge|lm|llm|head|sft|"
    r"[\w.-]*\d+[bB])\b",
    re.IGNORECASE,
)
_OF_FIXED = re.compile(
    r"\b(?:ref(?:erence)?\w*|teacher|encoder|backbone|tower|trunk|embeddings?|layers?|head|rm|judge|"
    r"critic|base|weights?|params?|parameters)\b[^.;]{0,25}$",
    re.IGNORECASE,
)
_AT_A_SHARE = re.compile(r"\s*(?:at|around|near|on|in|to)\s+(?:~|about )?(\d+(?:\.\d+)?) ?%")

_MOVES = re.compile(r"\b(?:move|advance)\b", re.IGNORECASE)
_LEARNS = re.compile(  # what "does not move" where nothing is learnt; a sync of weights may hang
    r"\b(?:polic(?:y|ies)|weights?|param(?:eter)?s?|adapters?|lora|actor|log-?prob\w*|learner|"
    r"advantages?|gradients?|ratios?|len(?:gth)?s?)\b[^.;]{0,40}$",
    re.IGNORECASE,
)
_OF_A_PART = re.compile(  # "frozen" is then a weight that is not trained
    r"\b(?:tower|encoder|decoder|backbone|base|layers?|blocks?|embeddings?|vit|projector|head|body|"
    r"trunk|llm|teacher|experts?|modules?|bottom|everything else|the rest|\w+_model|ref(?:erence)?"
    r"(?: model| policy)?)\b[^.;]{0,20}$",
    re.IGNORECASE,
)
_OF_A_PLAN = re.compile(  # a day from which on nothing may be changed
    r"\b(?:code|feature|release|config|paper|submission)[ -]$|"
    r"\b(?:before|until|till|by|after) (?:the|our)(?: \w+)? $",
    re.IGNORECASE,
)
_FROZEN = re.compile(r"^(?:frozen|froze|freezes?)$", re.IGNORECASE)
_OF_WEIGHTS = re.compile(  # "is my policy frozen?": whether it learns, and not whether it runs
    r"\b(?:polic(?:y|ies)|adapters?|lora|student|model)(?: (?:is|are|looks?|seems?|stays?|just|"
    r"completely|simply|being|kept|really|actually|be|to))*\s*$",
    re.IGNORECASE,
)
_STUCK = re.compile(r"^stuck$", re.IGNORECASE)
_WHO_WRITES = re.compile(  # "Stuck.", of whoever asks
    r"(?:^|[.!?)]\s+)(?:so |and |now )?(?:i(?:'m| am|m)|we(?:'re| are))?"
    r"\s*(?:now |totally |completely |really |a bit )?$",
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"^\s*(?:$|[.!?,:])")
_AT_A_LEVEL = re.compile(
    r"^\s*(?:at|around|near|on|in|to)\s+(?:~|about )?(?:\d*\.\d+|a (?:local|plat)|ln|"
    r"(?:the |one )?same (?:value|number|level|loss|score|reward))"
)
_AT_STEPS = re.compile(  # a step or a range of them, which a curve has and a standstill has not
    r"\s*(?:[a-z]+ ){0,2}?(?:at|around|near|between|from|about|after) (?:the )?~?"
    r"(?:(?:steps?|updates?|iter\w*) ~?(?:\d+ ?(?:-|to|and) ?)?|\d+ ?(?:-|to|and) ?)(\d{2,})\b"
    r"(?! ?(?:s\b|sec|min|h\b|hour|%|\.\d|epoch|GPU|node|rank|[GM]i?B))",
    re.IGNORECASE,
)
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
HALF = 0.5  # of a percent: a level as it is rounded


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
    last, is_of_a_number = beside.last_step, _number_hangs(beside)
    for line in beside.told():
        for found in _STANDS.finditer(line.text):
            before, after = line.text[: found.start()], line.text[found.end() :]
            if _OF_A_NUMBER.search(before) or _AT_A_LEVEL.match(after) or _NOT_SO.search(before):
                continue
            if found[0].lower() == "frozen" and _OF_WEIGHTS.search(before):
                continue
            if _FROZEN.match(found[0]) and (_OF_A_PART.search(before) or _OF_A_PLAN.search(before)):
                continue
            if _STUCK.match(found[0]) and (is_of_a_number or _is_the_writer(before, after)):
                continue
            if _GOES_ON.match(after) or _is_a_level(after, beside) or _is_fixed(found, line.text):
                continue
            if _MOVES.search(found[0]) and _LEARNS.search(before):
                continue
            if (at := _AT_STEPS.match(after)) and last > BEYOND * float(at[1]):
                continue  # the run went on
            start = max(0, found.start() - 40)
            return line, line.text[start : found.end() + 60].strip()
    return None, ""


def _is_fixed(found: re.Match, text: str) -> bool:
    """Whether it is of weights that are frozen, and not of a run."""
    if found[0].lower() not in ("frozen", "freeze", "freezes", "froze"):
        return False
    return bool(_KEPT_FIXED.match(text[found.end() :]) or _OF_FIXED.search(text[: found.start()]))


def _is_a_level(after: str, beside: Beside) -> bool:
    """Whether it stands at a share that the last entry has as one of its metrics."""
    if not (found := _AT_A_SHARE.match(after)) or not isinstance(beside.last, Entry):
        return False
    level = float(found[1])
    metrics = (v for name, v in beside.last.numbers.items() if name not in NO_METRIC)
    return any(abs(value * times - level) < HALF for value in metrics for times in (1, 100))


def _is_the_writer(before: str, after: str) -> bool:
    """Whether it is whoever asks that is stuck, and not the run."""
    return bool(_WHO_WRITES.search(before) and _SENTENCE_ENDS.match(after))


def _number_hangs(beside: Beside) -> bool:
    """Whether a sentence says of a number that it stays at a level: "stuck" is then said of it."""
    if not beside.num_entries:
        return False
    return any(
        _OF_A_NUMBER.search(line.text[: found.start()]) and _AT_A_LEVEL.match(after)
        for line in beside.told()
        for found in _STANDS.finditer(line.text)
        if (after := line.text[found.end() :])
    )


def _load(beside: Beside) -> tuple[Line, str] | None:
    """What is said of the load of the GPUs."""
    for line in beside.told():
        found = _IDLE.search(line.text)
        if found and _IS_LOAD.search(line.text):
            return line, found[0]
    return None
