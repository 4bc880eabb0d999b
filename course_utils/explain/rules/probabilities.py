"""Code that gives probabilities to a loss which takes their logarithms or logits:
`rule(log, beside)`."""

import ast
import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.probability import LOSS_CLASSES, Known
from course_utils.explain.rules.softmax_floor import floor_of

_LOSSES = {  # what each takes first
    "kl_div": "log-probabilities",
    "nll_loss": "log-probabilities",
    "cross_entropy": "logits",
    "binary_cross_entropy_with_logits": "logits",
}
_ONE_OF = re.compile("|".join([*_LOSSES, *LOSS_CLASSES]))
_OF_P = re.compile(r"(?<![a-z])(?:probs?|p|probabilit\w+|softmax\w*)(?![a-z])", re.IGNORECASE)
_OF_LOG = re.compile(r"log", re.IGNORECASE)
_SUM_OF_1 = r"\b{0}\b.*?\bsum\S*\s*[:=]?\s*1\.0"
BELOW, FEW = -0.05, 3  # entries
NAMES = ("divergence", "kl_loss", "loss")
WRONG = (
    "F.{loss} takes {takes} as its first argument and gets probabilities ({what}), so that its "
    "value is no {loss_word} and its smallest value is not where the two agree"
)
BELOW_0 = (
    ": it is below 0, which a KL cannot be, and making it smaller moves the student's probability "
    "to the teacher's likeliest token alone, so that its replies become alike and worse; no "
    "temperature, learning rate or longer training mends that"
)
TWICE = {
    "cross_entropy": ": the softmax is taken twice, so that the loss cannot fall below ln(e + K - "
    "1) - 1 for K classes (0.31 for 2, 1.04 for 6), however right the model is, and its gradient "
    "fades",
    "binary_cross_entropy_with_logits": ": the sigmoid is taken twice, so that the loss cannot "
    "fall below 0.31 for a label of 1 or 0.69 for a label of 0, and its gradient fades",
}
_ACTIVATED = re.compile(
    r"\bDense\([^)]*activation\s*=\s*(?:['\"]|[\w.]*\.)?(?P<name>softmax|sigmoid)|"
    r"\bActivation\(['\"](?P<alone>softmax|sigmoid)['\"]\)"
)
_FROM_LOGITS = re.compile(r"\bfrom_logits\s*=\s*True")
KERAS = (
    "the last layer has a {name}, and the loss is told from_logits=True, so that it takes another "
    "{name} of the probabilities: the loss has a floor far above 0, however right the model is, "
    "and its gradient fades"
)
KERAS_FIX = "from_logits=False, or no activation in the last layer; then train again"
LOG_SOFTMAX = {
    "kl_div": "F.log_softmax(student logits / T, dim=-1) as the first argument of F.kl_div, beside "
    "the teacher's softmax (or its log_softmax with log_target=True); the value then starts above "
    "0 and falls towards 0. Begin again from the student as it was",
    "nll_loss": "F.log_softmax(logits, dim=-1) for nll_loss, or F.cross_entropy on the logits as "
    "they are; begin again from the model as it was",
    "cross_entropy": "the raw logits as they are, without a softmax in the model: cross_entropy "
    "takes its own log_softmax (softmax only where probabilities are read); begin again from the "
    "model as it was",
    "binary_cross_entropy_with_logits": "the logits as they are: it takes its own sigmoid; begin "
    "again from the model as it was",
}
TARGET = (
    "kl_div is told log_target=True and gets the teacher's probabilities as they are ({what}), "
    "which it takes for logarithms, so that its value is no KL and is not smallest where student "
    "and teacher agree"
)
ONE_FORM = (
    "log_target=True with log_softmax of the teacher, or leave it out and give the teacher's "
    "softmax; the value of two equal distributions must then be 0. Begin again from the student "
    "as it was"
)


def softmax_and_from_logits(log: Log, beside: Beside) -> Finding | None:
    """A last layer with a softmax or a sigmoid, and a loss that is told that it gets logits."""
    layers = [line for line in beside.words if _ACTIVATED.search(line.text)]
    told = beside.matching(_FROM_LOGITS)
    if not layers or told is None:
        return None
    found = _ACTIVATED.search(layers[-1].text)
    name = found["name"] or found["alone"]
    why, proof = KERAS.format(name=name), (layers[-1].says, told[0].says)
    one = Finding("probabilities_as_logs", 8.4, told[0], proof, why=why, advice=KERAS_FIX)
    return _with_its_floor(one, log, beside)


def probabilities_as_logs(log: Log, beside: Beside) -> Finding | None:
    """A call whose argument is a softmax by the lines above it, or by its name and a loss of KL
    below 0."""
    if not beside.matching(_ONE_OF):
        return None
    known, made = Known(), {}
    for line, statement in statements(beside):
        known.enter(statement)
        if isinstance(statement, ast.FunctionDef):
            for one in statement.args.args:
                known.kinds.pop(one.arg, None)  # another value of the same name
        for call in calls(statement):
            if found := _judged(call, known, line, made, log, beside):
                return _with_its_floor(found, log, beside)
        for target, value in bound(statement):
            known.learn(target, value)
            made[name_of(target)] = line
    return None


def _with_its_floor(one: Finding, log: Log, beside: Beside) -> Finding:
    """With the losses that are the floor and the errors, where they are logged."""
    found = floor_of(log, beside)
    return replace(one, weight=9.3, for_it=(*one.for_it, *found[2])) if found else one


def _judged(call, known: Known, line: Line, made: dict, log: Log, beside: Beside):
    maker = known.losses.get(name_of(call.func))
    if isinstance(call.func, ast.Call) and name_of(call.func.func) in LOSS_CLASSES:
        maker = call.func  # nn.KLDivLoss()(a, b)
    loss = LOSS_CLASSES[name_of(maker.func)] if maker else name_of(call.func)
    if loss not in _LOSSES or not call.args + call.keywords:
        return None
    first, second = _argument(call, 0, "input"), _argument(call, 1, "target")
    if first is None:
        return None
    below = _below_0(log) if loss == "kl_div" else []
    by_name = bool(below) and _is_named_p(first, known, beside)
    if known.kind(first) == "p" or by_name:
        return _of_input(loss, first, line, made, below)
    takes_logs = loss == "kl_div" and second is not None and _log_target(maker or call)
    return _of_target(second, line, made) if takes_logs and known.kind(second) == "p" else None


def _of_input(loss: str, first: ast.AST, line: Line, made: dict, below: list[str]) -> Finding:
    what = ast.unparse(first)
    word = "KL" if loss == "kl_div" else "negative log-likelihood"
    why = WRONG.format(loss=loss, takes=_LOSSES[loss], what=what, loss_word=word)
    why += BELOW_0 if below else TWICE.get(loss, "")
    proof = (*_quotes(first, line, made), *below)
    advice = LOG_SOFTMAX[loss]
    weight = 9.3 if below else 8.4
    return Finding("probabilities_as_logs", weight, line, proof, why=why, advice=advice)


def _of_target(second: ast.AST, line: Line, made: dict) -> Finding:
    why, proof = TARGET.format(what=ast.unparse(second)), _quotes(second, line, made)
    return Finding("probabilities_as_logs", 8.4, line, proof, why=why, advice=ONE_FORM)


def _quotes(node: ast.AST, line: Line, made: dict) -> tuple[str, ...]:
    """The line that makes the argument, and the one of the call."""
    names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
    above = [made[name] for name in names if name in made]
    both = dict.fromkeys([*above[:1], line])
    return tuple(one.says for one in both)


def _argument(call: ast.Call, place: int, name: str) -> ast.AST | None:
    if len(call.args) > place:
        return call.args[place]
    return next((one.value for one in call.keywords if one.arg == name), None)


def _log_target(call: ast.Call) -> bool:
    given = (one.value for one in call.keywords if one.arg == "log_target")
    return any(isinstance(one, ast.Constant) and one.value is True for one in given)


def _is_named_p(node: ast.AST, known: Known, beside: Beside) -> bool:
    """Whether no line tells what it is, and its name, or a sum of 1, says probabilities."""
    name = name_of(node)
    if not name or known.kinds.get(name, "") or _OF_LOG.search(name):
        return False
    sums = re.compile(_SUM_OF_1.format(re.escape(name)))
    return bool(_OF_P.search(name.replace("_", " ")) or beside.matching(sums))


def _below_0(log: Log) -> list[str]:
    """A divergence, or the loss, that is below 0 in every entry."""
    for name in NAMES:
        series, values = log.series(name), finite(log.values(name))
        if len(values) >= FEW and max(values) < BELOW:
            (first, _), (last, _) = series[0], series[-1]
            return [
                f"{said(first, name)} at {first.where}, {said(last, name)} at {last.where}: below "
                f"0 in all {len(values)} entries"
            ]
    return []


RULES_OF_SETTINGS = (probabilities_as_logs, softmax_and_from_logits)
