"""A reference that is the policy itself: code that gives it a second name, and makes no copy."""

import ast
import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log, finite

_OF_REFERENCE = re.compile(r"^(?:ref\w*|\w+_ref|frozen\w*|init(?:ial)?_(?:model|policy))$")
_ITSELF = {"eval", "train", "requires_grad_", "to", "cuda", "half", "float", "bfloat16", "cpu"}
_OPTIMIZERS = re.compile(r"adam|sgd|optim|lion|adafactor|muon", re.IGNORECASE)
_WITHOUT_ADAPTER = re.compile(r"disable_adapter|set_adapter\(")
LN_2 = math.log(2)
SHOWN, SAID, NEAR = 9.3, 8.2, 1e-4
ONE_OBJECT = (
    "policy and reference are one object: `{code}` gives the policy a second name and copies "
    "nothing{self}, so that the reference moves with it. Their log-probs are the same at every "
    "step, whatever is learnt, and nothing holds the policy where it began"
)
GIVES_ITSELF = " ({} returns the module itself)"
NO_FLOOR = (
    ". A loss of ln 2 is then no sign that nothing is learnt: its gradient is not 0 and never "
    "fades, and drives the policy on until it is destroyed"
)
A_COPY = (
    "ref = copy.deepcopy({policy}).eval().requires_grad_(False), or load the first weights a "
    "second time, or compute the reference's log-probs before training; begin again from "
    "these weights"
)


def reference_is_the_policy(beside: Beside, log: Log) -> Iterator[Finding]:
    """`ref = policy.eval()` of a policy that an optimizer trains."""
    code = list(statements(beside))
    trained = set().union(*(_trained(one) for _, one in code)) if code else set()
    last = {name_of(t): line for line, one in code for t, _ in bound(one)}
    if beside.matching(_WITHOUT_ADAPTER):
        return
    for line, statement in code:
        for target, value in bound(statement):
            name, policy, through = name_of(target), *_second_name(value)
            is_such = _OF_REFERENCE.match(name) and policy in trained and policy != name
            if is_such and last[name] is line and _uses(code, name):
                yield _told(line, statement, policy, through, log)
                return


def _told(line: Line, statement: ast.stmt, policy: str, through: str, log: Log) -> Finding:
    losses = finite(log.values("loss"))
    at_start = len(losses) > 2 and max(abs(loss - LN_2) for loss in losses) < NEAR
    proof = [f"{line.where} says: {line.text.strip()[:MAX_QUOTE]}"]
    if at_start:
        proof.append(f"the loss is ln 2 in all {len(losses)} entries ({losses[-1]:.4f})")
    itself = GIVES_ITSELF.format(f"{through}()") if through else ""
    why = ONE_OBJECT.format(code=ast.unparse(statement)[:80], self=itself)
    return Finding(
        "reference_moves",
        SHOWN if at_start else SAID,
        line,
        tuple(proof),
        why=why + (NO_FLOOR if at_start else ""),
        advice=A_COPY.format(policy=policy),
    )


def _trained(statement: ast.stmt) -> set[str]:
    """The models whose parameters a statement gives to an optimizer."""
    return {
        name_of(one.func.value)
        for call in calls(statement)
        if _OPTIMIZERS.search(name_of(call.func))
        for arg in [*call.args, *(k.value for k in call.keywords)]
        for one in calls(arg)
        if isinstance(one.func, ast.Attribute) and one.func.attr == "parameters"
    }


def _second_name(value: ast.expr) -> tuple[str, str]:
    """The name that a value is, through methods that return the module itself; and the last."""
    through = ""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in _ITSELF:
            return "", ""
        through, value = through or value.func.attr, value.func.value
    return name_of(value), through


def _uses(code: list[tuple[Line, ast.stmt]], name: str) -> bool:
    """Whether a model of this name computes something in a later statement."""
    return any(
        name_of(part) == name
        for _, statement in code
        for call in calls(statement)
        for part in [call.func, *call.args, *(k.value for k in call.keywords)]
    )
