"""Code whose reference is the policy itself, under another name, and a KL or a reward of 0."""

import ast
import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of, statements
from course_utils.explain.paste.entries import MAX_QUOTE, Line, number_of
from course_utils.explain.paste.log import Log, finite

_FROZEN = re.compile(r"ref|anchor|frozen|old|init|base|sft|prior|start", re.IGNORECASE)
_SAME_OBJECT = {"eval", "train", "to", "cuda", "requires_grad_", "half", "bfloat16", "float"}
_ADAPTED = re.compile(r"\bget_peft_model\(|\bPeftModel\w*\.from_pretrained\(|\bLoraConfig\(")
_SWITCHED = re.compile(r"\bdisable_adapters?(?:_layers)?\b|\bset_adapter\(|\bunload\(")
FEW, NEAR = 3, 1e-3
OF_ONE = (
    "the reference is the policy itself: {how}. So both give the same log-probs at every step, "
    "the {what} is 0 whatever is learnt, and nothing holds the policy where it began"
)
INSIDE = (
    "{name} is what {call} returns, which is the base with the adapter's layers still in it (they "
    "were put into that very model), and they are active"
)
ALIAS = "{name} is {call}, which is no copy but the same object as {of}"
SWITCH = (
    "compute the reference's log-probs inside `with policy.disable_adapter():` (no second model "
    "is needed), and assert that the KL is 0 before the first step and above it after some; then "
    "begin again from the start. A larger coefficient times 0 is 0"
)
COPY = (
    "a copy made before training (copy.deepcopy(policy).eval().requires_grad_(False), or load it a "
    "second time), and assert that the difference is 0 before the first step and not after some; "
    "then begin again from the start. A larger coefficient times 0 is 0"
)


def reference_is_policy(beside: Beside, log: Log) -> Iterator[Finding]:
    """A name for the policy's own weights, beside a divergence that never leaves 0."""
    zero = _stays_zero(beside, log)
    if zero is None:
        return
    what, shown = zero
    for line, statement in statements(beside):
        for target, value in bound(statement):
            if not (found := _how(name_of(target), value, beside)):
                continue
            how, advice = found
            proof = (f"{line.where} says: {line.text.strip()[:MAX_QUOTE]}", shown)
            why = OF_ONE.format(how=how, what=what)
            yield Finding("reference_moves", 9.0, line, proof, why=why, advice=advice)
            return


def _how(name: str, value: ast.expr, beside: Beside) -> tuple[str, str] | None:
    """How such a value is the policy, and what to do; None where it is a model of its own."""
    if not name:
        return None
    call = ast.unparse(value)
    inner = value.func if isinstance(value, ast.Call) else value
    is_base = name_of(inner) in ("get_base_model", "base_model") and call != name
    if is_base and beside.matching(_ADAPTED) and not beside.matching(_SWITCHED):
        return INSIDE.format(name=name, call=call), SWITCH
    of = _object(value)
    is_other = of and of != name and re.search(r"policy|model|actor|net|student", of)
    if is_other and _FROZEN.search(name) and not _FROZEN.search(of):
        return ALIAS.format(name=name, call=call, of=of), COPY
    return None


def _object(value: ast.expr) -> str:
    """The name whose own object a chain of calls returns: policy of `policy.eval()`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in _SAME_OBJECT:
            return ""
        value = value.func.value
    return name_of(value)


def _stays_zero(beside: Beside, log: Log) -> tuple[str, str] | None:
    """What is 0 in every row of the log or of a table, and where that is shown."""
    for name, what in (("kl", "KL"), ("kl_loss", "KL"), ("chosen_reward", "reward")):
        values = log.series(name)
        if len(values) >= FEW and not any(v for _, v in values):
            return what, f"{what} 0 in all {len(values)} entries, from {values[0][0].where} on"
    losses = finite(log.values("loss"))
    hits = finite(log.values("accuracy"))
    at_start = len(losses) >= FEW and all(abs(x - math.log(2)) < NEAR for x in losses)
    if at_start and hits and not any(hits):
        where = log.entries[0].where
        return "reward", f"the loss is ln 2 and no pair is right in all entries, from {where} on"
    return _column_of_zeros([line for _, line in beside.lines])


def _column_of_zeros(lines: list[Line]) -> tuple[str, str] | None:
    """A table whose column kl is 0 in each row."""
    for number, line in enumerate(lines):
        names = line.text.lower().split()
        if "kl" not in names or any(number_of(one) is not None for one in names[:4]):
            continue
        at, rows = names.index("kl"), []
        for below in lines[number + 1 :]:
            numbers = [number_of(one) for one in below.text.split()]
            if len(numbers) <= at or None in numbers[: at + 1]:
                break
            rows.append(numbers[at])
        if len(rows) >= FEW and not any(rows):
            return "KL", f"{lines[number + 1].where} on: kl is 0 in all {len(rows)} rows"
    return None
