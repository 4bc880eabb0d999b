"""Blocks that are checkpointed and whose inputs need no gradient: `rule(log, beside)`."""

import re
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, thirds
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.paste.usual_words import NO_INPUT_HAS_GRADIENT

_MOVED = r"(?:non-?zero|changed|moved|updated|trained|with (?:a )?grad\w*(?! ?(?:is )?none)|learnt)"
_STILL = (
    r"(?:(?:all |still |exactly )*(?<!non-)(?<!non)zeros?|unchanged|untouched|not moved|"
    r"without (?:a )?grad\w*|(?:\.?grad\w*|with) (?:is |== ?)?none|no grad\w*)"
)
_WHO, _OF = r"\b(?:lora|adapter)\w*\b", r"(?P<few>\d+) ?(?:/|of|out of) ?(?P<all>\d+)"
_COUNTS = tuple(  # with whether it counts those that stand
    (re.compile(said, re.IGNORECASE), is_still)
    for what, is_still in ((_MOVED, False), (_STILL, True))
    for said in (
        rf"{_WHO}.{{0,40}}?(?<![-\w]){what}\W{{1,3}}{_OF}",
        rf"(?<![\d.]){_OF} (?:\w+ ){{0,2}}?{_WHO}.{{0,30}}?(?<![-\w]){what}\b",
        rf"{_WHO}\W{{1,3}}{_OF} (?:\w+ )?{what}\b",
        rf"(?P<all>\d+) {_WHO}(?: \w+)?[,;:(]\W*(?:only )?(?P<few>\d+) (?:\w+ )?{what}\b",
    )
)
_ASKS = re.compile(r"^(?=.*\blen\()(?=.*(?:\bsum\(|count_nonzero))")
_ASKS_STILL = re.compile(r"== ?0|< ?1e-|\bis None|\bnot \w+\.(?:any|count_nonzero)")
_ANSWER = re.compile(r"^\W*(?:Out ?\[\d+\]:?)?\s*\(?(\d+), (\d+)\)?\s*$")
_ADAPTER = re.compile(r"lora|adapter", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:at init\w*|before|at (?:the )?start|fresh|step 0)\b", re.IGNORECASE)
_REENTRANT = re.compile(r"use_reentrant['\"]?\s*[=:]\s*true", re.IGNORECASE)
_OUTSIDE = re.compile(
    r"target_modules.*\b(?:lm_head|embed_tokens)\b|modules_to_save['\"]?\s*[=:]\s*\[|"
    r"emb\w*(?:\(\))?[\w.]*\.requires_grad(?:_\(False\)|\s*=\s*False)|"
    r"\bfreeze_\w*emb\w*['\"]?\s*[=:]\s*true",
    re.IGNORECASE,
)
_NEEDS_SOME = re.compile(r"enable_input_require_grads\(|prepare_model_for_kbit_training\(")
_ALL_ZERO = re.compile(  # what of an adapter is 0 as it was made
    r"\blora_?B\b(?:(?!lm_head|lora_?A|\d\.\d)[^;\n]){0,60}?\b"
    r"(?:abs\W?max|max(?:imum)?(?:\|\w*\||\b)|(?:norm|mean|sum|std|values?)\b)\W{0,12}"
    r"0(?:\.0*)?(?:e[+-]?0+)?(?![\d.])|"
    r"\b(?:all|every|each) (?:of )?(?:the )?lora_?B\b.{0,40}?\b(?:are|is|stays?|remains?|==?)\b "
    r"(?:all |exactly |still )*(?:0(?:\.0*)?(?![\d.])|zeros?\b)|"
    r"\blora_?[AB]\b.{0,40}?\bgrad\b\W{0,4}(?:is |== ?)?None",
    re.IGNORECASE,
)
_CHECKPOINTS = re.compile(
    r"gradient_checkpointing_enable\(\s*\)|\bgradient_checkpointing['\"]?\s*[=:]\s*['\"]?true|"
    r"--gradient[-_]checkpointing\b(?![\s=]+false)",
    re.IGNORECASE,
)
_WRAPS = re.compile(r"\bget_peft_model\(")
_HEAD = r"(?:lm_head|score|classifier|v_head|value_head|embed_out|output_layer)"
_HEAD_TRAINED = re.compile(
    rf"(?:modules_to_save|additional_target)\b.{{0,60}}?\b{_HEAD}\b|\bSEQ_CLS\b|"
    rf"\b{_HEAD}\b[\w.]*\.requires_grad(?:_\((?:True)?\)|\s*=\s*True)",
    re.IGNORECASE,
)
_TABLE_TRAINED = re.compile(
    r"(?:modules_to_save|additional_target|target_modules)\b.*\b(?:embed\w*|wte|tok_embeddings)\b|"
    r"emb\w*(?:\(\))?[\w.]*\.requires_grad(?:_\((?:True)?\)|\s*=\s*True)",
    re.IGNORECASE,
)
_NOT_REENTRANT = re.compile(r"use_reentrant['\"]?\s*[=:]\s*false", re.IGNORECASE)
FEW, LEVEL, ABOVE = 0.2, 0.95, 4  # of the adapters; of the first losses; lines
BLOCKS_CUT = (
    "no gradient reaches the weights inside the checkpointed blocks: their inputs need none, and "
    "reentrant checkpointing then drops what is inside. What learns stands outside of them{}, so "
    "that the run neither breaks nor learns, at any rank or learning rate"
)


def blocks_without_gradient(log: Log, beside: Beside) -> Finding | None:
    """The warning of checkpointed blocks (or the setting that makes it), and few adapters that
    have moved, or a loss that stands while something outside of the blocks is trained."""
    if zero := _all_zero(beside):
        return zero
    warned, counted = beside.matching(NO_INPUT_HAS_GRADIENT), _counted(beside)
    reentrant, mended = beside.matching(_REENTRANT), beside.matching(_NEEDS_SOME)
    if warned is None and (counted is None or reentrant is None or mended):
        return None
    proof, aside = [f"{warned[0].where} says: {warned[1]}"] if warned else [], ""
    if counted:
        line, few, whole = counted
        if not few < FEW * whole or not (few or warned):
            return None
        proof.append(line.says)
        aside = f" ({few} of {whole} adapters)"
    else:
        levels = thirds(log.values("loss"))
        stands = levels is not None and levels[2] > LEVEL * levels[0]
        if not stands or reentrant is None or mended or not beside.matching(_OUTSIDE):
            return None
        proof.append(f"the loss hardly falls: {listed(levels)} by thirds of the log")
    for found in (reentrant, beside.matching(_OUTSIDE)):
        if found:
            proof.append(f"{found[0].where} says: {found[1].strip()[:MAX_QUOTE]}")
    at = counted[0] if counted else warned[0]
    weight, proof = 8.8 if warned else 7.5, tuple(dict.fromkeys(proof))
    why = BLOCKS_CUT.format(aside)
    return Finding("checkpoint_without_gradient", weight, at, proof, why=why)


def _all_zero(beside: Beside) -> Finding | None:
    """All B of an adapter are 0 as they were made, and blocks are checkpointed in the default
    way, with nothing that makes their inputs need a gradient."""
    zero, on = _still_zero(beside), beside.matching(_CHECKPOINTS)
    if zero is None or on is None or beside.matching(NO_INPUT_HAS_GRADIENT):
        return None
    if beside.matching(_NEEDS_SOME) or beside.matching(_NOT_REENTRANT):
        return None
    wraps = beside.matching(_WRAPS)
    if wraps and place(wraps[0]) > place(on[0]):
        return None  # peft looks after the inputs of a model that is checkpointed already
    outside = beside.matching(_HEAD_TRAINED)
    if outside is None or beside.matching(_TABLE_TRAINED):
        return None  # without a head that learns there is an error; a trained table is an input
    shown = [on[0], zero, outside[0]]
    proof = [one.says for one in shown]
    proof.append("no line sets use_reentrant=False, nor makes the inputs need a gradient")
    why = BLOCKS_CUT.format(" (a head behind the last block)")
    key, proof = "checkpoint_without_gradient", tuple(dict.fromkeys(proof))
    return Finding(key, 8.0, zero, proof, why=why)


def _still_zero(beside: Beside) -> Line | None:
    """The line of a program that shows it, or else of a sentence."""
    said = [line for line in beside.words if _ALL_ZERO.search(line.text)]
    said = [line for line in said if not _BEFORE.search(line.text)]
    return next((line for line in said if not is_prose(line.text)), next(iter(said), None))


def _counted(beside: Beside) -> tuple[Line, int, int] | None:
    """How many adapters have moved, and of how many: as it is said, or as a prompt answers."""
    for line in beside.words:
        for pattern, is_still in () if _BEFORE.search(line.text) else _COUNTS:
            if found := pattern.search(line.text):
                few, whole = int(found["few"]), int(found["all"])
                return line, whole - few if is_still else few, whole
    return _answered(beside)


def _answered(beside: Beside) -> tuple[Line, int, int] | None:
    """The answer to `len(...), sum(...)` where one of the lines above names adapters."""
    lines = beside.words
    for number, (asked, below) in enumerate(pairwise(lines)):
        found = _ANSWER.match(below.text)
        about = " ".join(one.text for one in lines[max(0, number - ABOVE) : number + 1])
        if not found or not _ASKS.search(asked.text) or not _ADAPTER.search(about):
            continue
        few, whole = sorted(map(int, found.groups()))
        return below, whole - few if _ASKS_STILL.search(asked.text) else few, whole
    return None


RULES_OF_SETTINGS = (blocks_without_gradient,)
