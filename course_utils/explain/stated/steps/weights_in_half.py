"""Weights that are loaded in float16 by a setting and trained as they are: dead by the first
update."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.stated.steps.forward_range import is_dead

_LOADED = re.compile(
    r"(?<![\w.])(?:--)?(?:model[-_.]|torch[-_]|weights?[-_]|param(?:eter)?s?[-_])?dtype['\"]?"
    r"(?:\s*[:=]\s*|\s+)['\"]?(?:torch\.)?(?:float16|fp16|half)\b|\.half\(\)",
    re.IGNORECASE,
)
_PRINTED = re.compile(
    r"\bdtypes?\b\W{0,12}(?:\w+\W{0,3}){0,2}?(?:torch\.)float16\b|"
    r"\b(?:weights?|param\w*|model)\b.{0,30}\b(?:are|is|in|all|as|:)\W+(?:all )?torch\.float16\b",
    re.IGNORECASE,
)
_UNSCALES = re.compile(r"Attempting to unscale FP16 gradients")
_OF_ANOTHER = re.compile(
    r"vllm|sglang|rollout|sampler|\bref(?:erence)?[_. ]|teacher|judge|reward|compute_dtype|quant|"
    r"\bserve\b|kv[-_]cache|autocast|mixed",
    re.IGNORECASE,
)
_OF_A_FILE = re.compile(r"\btransformers_version\b|\barchitectures\b")  # config.json is printed
_MIXED = re.compile(
    r"--(?:fp16|bf16)\b(?!\W{0,2}(?:false|no|0)\b)|\b(?:fp16|bf16)['\"]?\s*[:=]\s*['\"]?true\b|"
    r"\bmixed[-_]precision['\"]?(?:\s*[:=]\s*|\s+)['\"]?(?:fp16|bf16)\b|\bautocast\(|\bGradScaler\(",
    re.IGNORECASE,
)
_MASTERS = re.compile(
    r"deepspeed|\bzero[-_ ]?[123]\b|\bamp\.init|\bmaster[-_ ](?:weights?|param)|\bq?lora\b|"
    r"\b(?<!no )(?<!without )peft\b|load_in_[48]|\bfsdp|float16_to_float32|kahan|stochastic|"
    r"megatron",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:no|not|without|isn't|disabled|off) (?:any )?(?:q?lora|peft|deepspeed|fsdp)\b",
    re.IGNORECASE,
)
_OTHER_OPTIMIZER = re.compile(
    r"\bSGD\(|\boptim\w*['\"]?\s*[=: ]\s*['\"]?(?:sgd|adafactor|lion)", re.I
)
_LARGE_EPS = re.compile(r"\b(?:adam_)?(?:eps|epsilon)\b\W{0,3}(?:1e-[1-6]|0\.0\d+)\b")
HEAD, LEAST = 3, 2  # finite entries before it; dead ones behind
SURE = 9.3  # above a nan that the log hides
DEAD = (
    "the trained weights themselves are float16 (no float32 copy, no mixed precision): there "
    "AdamW's eps of 1e-8 and the squares of small gradients are 0, so that the first update "
    "divides by 0 and leaves nan in the weights. The forward pass before it was finite, and no "
    "row, rate or clipping is to blame"
)
LOAD = (
    "load the weights in float32 and let fp16=True (autocast with a GradScaler) compute in "
    "float16, or bf16 where the GPU has it; 'Attempting to unscale FP16 gradients' asks for the "
    "same, and is not mended by leaving fp16 out. If the memory does not suffice for "
    "that: LoRA with float32 adapter weights. Begin again from the pretrained weights"
)


def dead_by_the_first_update(beside: Beside, log: Log) -> Iterator[Finding]:
    """float16 weights under AdamW, and a log that is finite first and nan from then on."""
    half = _weights(beside)
    if half is None or _kept_wider(beside) or beside.matching(_LARGE_EPS):
        return
    turned = _turned(log)
    if turned is None or not all(map(math.isfinite, log.values("reward"))):
        return
    before, after = turned
    unscales = beside.matching(_UNSCALES)
    proof = [half.says, *([unscales[0].says] if unscales else [])]
    shown = [name for name in ("loss", "grad_norm") if name in after.numbers]
    proof.append(f"{said(before, 'loss')} at {before.where}, and from {after.where} on ")
    proof[-1] += f"{said(after, *shown)}, to the end"
    yield Finding("half_weights", SURE, after, tuple(dict.fromkeys(proof)), why=DEAD, advice=LOAD)


def _weights(beside: Beside) -> Line | None:
    """The line that loads the weights in float16, or prints that they are."""
    is_file = beside.matching(_OF_A_FILE) is not None
    for line in beside.words:
        loaded = _LOADED.search(line.text)
        is_setting = loaded and not is_prose(line.text) and not _OF_ANOTHER.search(line.text)
        if (is_setting and not is_file) or _PRINTED.search(line.text):
            return line
    return None


def _kept_wider(beside: Beside) -> bool:
    """Whether something computes in float16 alone, keeps the trained weights in float32, or steps
    them by another rule than Adam's."""
    settings = [line.text for line in beside.words if not is_prose(line.text)]
    if any(_MIXED.search(text) or _OTHER_OPTIMIZER.search(text) for text in settings):
        return True
    texts = (_DENIED.sub("", line.text) for line in beside.words)
    return any(_MASTERS.search(text) for text in texts)


def _turned(log: Log) -> tuple[Entry, Entry] | None:
    """The last entry with a loss and the first without one, if all is dead from there on."""
    entries = [entry for entry in log.entries if "loss" in entry.numbers]
    alive = [n for n, entry in enumerate(entries) if not is_dead(entry)]
    head = len(alive)
    if not 0 < head <= HEAD or alive != list(range(head)) or len(entries) < head + LEAST:
        return None
    return entries[head - 1], entries[head]
