"""Code whose reference is the policy itself, under another name."""

import ast
import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line, number_of
from course_utils.explain.paste.log import Log, finite

_FROZEN = re.compile(r"ref|anchor|frozen|old|init|base|sft|prior|start", re.IGNORECASE)
_OF_REFERENCE = re.compile(r"^(?:ref\w*|\w+_ref|frozen\w*|init(?:ial)?_(?:model|policy))$")
_OPTIMIZERS = re.compile(r"adam|sgd|optim|lion|adafactor|muon", re.IGNORECASE)
_SAME_OBJECT = {"eval", "train", "to", "cuda", "cpu", "requires_grad_"}
_SAME_OBJECT |= {"half", "bfloat16", "float"}
_ADAPTED = re.compile(r"\bget_peft_model\(|\bPeftModel\w*\.from_pretrained\(|\bLoraConfig\(")
_SWITCHED = re.compile(r"\bdisable_adapters?(?:_layers)?\b|\bset_adapter\(|\bunload\(")
FEW, NEAR, LN_2 = 3, 1e-3, math.log(2)
SHOWN, SAID = 9.3, 8.2
OF_ONE = (
    "the reference is the policy itself: {how}. So both give the same log-probs at every step, "
    "{zero}and nothing holds the policy where it began"
)
ZERO = "the {} is 0 whatever is learnt, "
NO_FLOOR = (
    ". A loss of ln 2 is then no sign that nothing is learnt: its gradient is not 0 and never "
    "fades, and drives the policy on until it is destroyed"
)
REWARD = "reward"
INSIDE = (
    "{name} is what {call} returns, which is the base with the adapter's layers still in it (they "
    "were put into that very model), and they are active"
)
ALIAS = "{name} is {call}, which is no copy but the same object as {of}{itself}"
BY_DEFAULT = (
    "{name} is {of} itself where no {given} is given (no line shown here gives one), and that is "
    "no copy but the same object"
)
GIVES_ITSELF = " ({} returns the module itself)"
SWITCH = (
    "compute the reference's log-probs inside `with policy.disable_adapter():` (no second model "
    "is needed), and assert that the KL is 0 before the first step and above it after some; then "
    "begin again from the start. A larger coefficient times 0 is 0"
)
COPY = (
    "a copy made before training (copy.deepcopy({policy}).eval().requires_grad_(False), or load it "
    "a second time), and assert that the difference is 0 before the first step and not after some; "
    "then begin again from the start. A larger coefficient times 0 is 0"
)


def reference_is_policy(beside: Beside, log: Log) -> Iterator[Finding]:
    """A name for the policy's own weights, which an optimizer trains, or beside a KL that is 0."""
    if beside.matching(_SWITCHED):
        return
    zero, code = _stays_zero(beside, log), list(statements(beside))
    last = {name_of(target): line for line, one in code for target, _ in bound(one)}
    for line, statement in code:
        for target, value in bound(statement):
            name = name_of(target)
            given, value = _fallback(value) if zero else ("", value)
            is_trained = _is_trained(name, _object(value)[0], code)
            if given and _is_given(
                given, name, [pair for pair in code if pair[1] is not statement]
            ):
                continue
            if last[name] is not line or not (zero or is_trained):
                continue
            if not (found := _how(name, value, beside, is_trained, given)):
                continue
            what, shown = zero or ("", "")
            proof = (
                line.says,
                *([shown] if zero else []),
            )
            why = OF_ONE.format(how=found[0], zero=ZERO.format(what) if zero else "")
            why += NO_FLOOR if what == REWARD else ""
            weight = SHOWN if zero else SAID
            yield Finding("reference_moves", weight, line, tuple(proof), why=why, advice=found[1])
            return


def _how(
    name: str, value: ast.expr, beside: Beside, is_trained: bool, given: str
) -> tuple[str, str] | None:
    """How such a value is the policy, and what to do; None where it is a model of its own."""
    if not name:
        return None
    call = ast.unparse(value)[:80]
    inner = value.func if isinstance(value, ast.Call) else value
    is_base = name_of(inner) in ("get_base_model", "base_model") and call != name
    if is_base and beside.matching(_ADAPTED):
        return INSIDE.format(name=name, call=call), SWITCH
    of, through = _object(value)
    is_policy = of != name and re.search(r"policy|model|actor|net|student", of)
    if is_trained or (is_policy and _FROZEN.search(name) and not _FROZEN.search(of)):
        itself = GIVES_ITSELF.format(f"{through}()") if through else ""
        how = ALIAS.format(name=name, call=call, of=of, itself=itself)
        how = BY_DEFAULT.format(name=name, of=of, given=given) if given else how
        return how, COPY.format(policy=of)
    return None


def _fallback(value: ast.expr) -> tuple[str, ast.expr]:
    """What may be given, and what stands for it otherwise: `a or b`, `b if a is None else a`,
    `load(path) if path else b`.
    """
    if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
        return name_of(value.values[0]), value.values[-1]
    if not isinstance(value, ast.IfExp):
        return "", value
    asked = list(_names_in(value.test))
    for one, other in ((value.body, value.orelse), (value.orelse, value.body)):
        read = set(_names_in(one))
        if given := next((name for name in asked if name in read), ""):
            return given, other
    return "", value


def _names_in(node: ast.AST) -> Iterator[str]:
    """The names that an expression reads; of `a.b` it is b."""
    if name := name_of(node):
        yield name
    if not isinstance(node, ast.Attribute) or not name_of(node.value):
        for part in ast.iter_child_nodes(node):
            yield from _names_in(part)


def _is_given(given: str, name: str, code: list[tuple[Line, ast.stmt]]) -> bool:
    """Whether a call hands over a model under this name, or one that is called a reference."""
    for call in (one for _, statement in code for one in calls(statement)):
        if any(k.arg == given and ast.unparse(k.value) != "None" for k in call.keywords):
            return True
        named = {name_of(one) for one in call.args} - {name}
        if any(one == given or _OF_REFERENCE.match(one) for one in named):
            return True
    return False


def _object(value: ast.expr) -> tuple[str, str]:
    """The name whose own object a chain of calls returns (policy of `policy.eval()`); the last."""
    through = ""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in _SAME_OBJECT:
            return "", ""
        through, value = through or value.func.attr, value.func.value
    return name_of(value), through


def _is_trained(name: str, of: str, code: list[tuple[Line, ast.stmt]]) -> bool:
    """Whether the name is a reference's, and the other that of a model that is optimized."""
    trained = {model for _, one in code for model in _given_to_optimizers(one)}
    is_such = _OF_REFERENCE.match(name) and of in trained and of != name
    return bool(is_such) and _computes(code, name)


def _given_to_optimizers(statement: ast.stmt) -> Iterator[str]:
    """The models whose parameters a statement gives to an optimizer."""
    for call in (one for one in calls(statement) if _OPTIMIZERS.search(name_of(one.func))):
        for arg in [*call.args, *(k.value for k in call.keywords)]:
            for one in calls(arg):
                if isinstance(one.func, ast.Attribute) and one.func.attr == "parameters":
                    yield name_of(one.func.value)


def _computes(code: list[tuple[Line, ast.stmt]], name: str) -> bool:
    """Whether a model of this name computes something."""
    return any(
        name_of(part) == name
        for _, statement in code
        for call in calls(statement)
        for part in [call.func, *call.args, *(k.value for k in call.keywords)]
    )


def _stays_zero(beside: Beside, log: Log) -> tuple[str, str] | None:
    """What is 0 in every row of the log or of a table, and where that is shown."""
    for name, what in (("kl", "KL"), ("kl_loss", "KL"), ("chosen_reward", REWARD)):
        values = log.series(name)
        if len(values) >= FEW and not any(v for _, v in values):
            return what, f"{what} 0 in all {len(values)} entries, from {values[0][0].where} on"
    losses, hits = finite(log.values("loss")), finite(log.values("accuracy"))
    far = max((abs(loss - LN_2) for loss in losses), default=1.0)
    no_hits = hits and not any(hits)
    if len(losses) >= FEW and (far < NEAR / 10 or (no_hits and far < NEAR)):
        no_pair = " and no pair is right" if no_hits else ""
        where = log.entries[0].where
        return REWARD, f"the loss is ln 2 in all {len(losses)} entries{no_pair}, from {where} on"
    return _column_of_zeros(beside.words)


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
