"""The log-probs of a policy's own loop: of the token before, of padding as well, or of the policy
of this very moment where they should be those of the one that sampled."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.columns import rows_of
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.calls.given import keyword
from course_utils.explain.stated.calls.tokens import MOVE, SELF, TWO_PARTS

_CODE = re.compile(r"log_?p|lp\b|logits", re.IGNORECASE)
_LOOKS_UP = ("gather", "selective_log_softmax", "logprobs_from_logits", "gather_log_probs")
_IDS = re.compile(r"ids|tok|target|label|seq|compl|resp", re.IGNORECASE)
_LOGITS = re.compile(r"logit|log_?p|lp\b|log_?soft", re.IGNORECASE)
_OLD = re.compile(r"^(?:mb_?)?(?:old|behavi\w*|prev)\w*|\w+_old$", re.IGNORECASE)
_LOGP = re.compile(r"log_?p|lp|prob", re.IGNORECASE)
_AGAIN = re.compile(r"epoch|mini_?batch|\bmb\b|micro|\bchunk|inner|updates?\b", re.IGNORECASE)
_RATIO = re.compile(r"^ratios?(?:[_/]mean)?$")
_CLIPPED = re.compile(r"clip_?frac|clip_?ratio|^clipped")
_LEFT = re.compile(
    r"padding_side['\"]?\s*\]?\s*[=:]\s*['\"]left|\bpad(?:s|ded|ding)?\b.{0,40}\bleft\b",
    re.IGNORECASE,
)
_PADS = re.compile(r"^(?:n_?)?pad(?:s|ding|_tokens|_len)?$")
_APART = re.compile(r"diff|error|abs|vllm|hf|kl|ratio|tis")
_MODEL = re.compile(r"^(?:self\.)?(?:\w*model|policy|actor|net|ref\w*|\w*_ref|module|lm)$")
FEW, NEAR = 3, 1e-4  # rows; of a ratio
SURE, SHOWN = 9.2, 7.5
OF_NOW = (
    "the old log-probs are those of the policy of this very moment: `{old}` is computed within the "
    "loop over minibatches by the same model just before `{new}`, so that the ratio is 1 in every "
    "update, nothing is ever clipped, and no update knows how far the ones before it have gone"
)
BEFORE = (
    "compute the old log-probs once for each rollout, before the first update on it (or take the "
    "sampler's), keep them with the rows, and cut the minibatches from them; the ratio must then "
    "be 1 in the first update alone. The clip range and the rate are not the first thing to change"
)
UNMASKED = (
    "rows are padded on the left, and the forward pass that scores them gets no attention_mask: "
    "the padding counts as text before each prompt that is shorter than the longest, so that its "
    "log-probs are not those of the sampler, the further off the more padding it has"
)
MASK_IT = (
    "hand attention_mask = (ids != pad) to the model, and position_ids = (mask.cumsum(-1) - 1)"
    ".clamp(min=0) with it; then compare the log-probs of a short prompt alone and in a batch. "
    "Sampler, kernels and sync are sound"
)


def wrong_log_probs(beside: Beside, log: Log) -> Iterator[Finding]:
    """What each of these rules finds in the code."""
    if not beside.matching(_CODE):
        return
    rows = list(statements(beside))
    yield from _not_shifted(rows, beside)
    yield from _of_this_moment(rows, beside, log)
    yield from _left_without_mask(rows, beside, log)


def _not_shifted(rows: list[tuple[Line, ast.stmt]], beside: Beside) -> Iterator[Finding]:
    """Logits and ids that are cut at the same place, and looked up in each other."""
    if beside.matching(TWO_PARTS):
        return
    held: dict[str, ast.expr] = {}
    for line, statement in rows:
        for call in calls(statement):
            if not (pair := _looked_up(call)):
                continue
            logits, ids = (_cuts(one, held) for one in pair)
            if logits and logits == ids and any(not one.startswith(":") for one in logits):
                nodes = (one for one in ast.walk(pair[1]) if isinstance(one, ast.Name))
                name = next((one.id for one in nodes), "ids")
                why, advice = SELF.format(ids=name), MOVE.format(ids=name)
                proof = (line.says, f"both are cut at [:, {logits[0]}]", *_lines_of(pair, rows))
                yield Finding("loss_not_shifted", SURE, line, proof, why=why, advice=advice)
                return
        held |= {name_of(target): value for target, value in bound(statement)}


def _lines_of(pair: tuple[ast.expr, ast.expr], rows: list) -> list[str]:
    """The lines that bind the names of a pair."""
    names = {name_of(node) for one in pair for node in ast.walk(one)} - {""}
    return [
        line.says
        for line, statement in rows
        if any(name_of(t) in names and ":" in ast.unparse(v) for t, v in bound(statement))
    ][:2]


def _looked_up(call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """The logits and the ids of a call that looks the ones up in the others."""
    if name_of(call.func) not in _LOOKS_UP:
        return None
    given = [*call.args, *(one.value for one in call.keywords)]
    is_method = isinstance(call.func, ast.Attribute) and name_of(call.func.value) != "torch"
    if name_of(call.func) == "gather" and is_method:
        given = [call.func.value, *given]
    kept = [one for one in given if not isinstance(one, ast.Constant | ast.UnaryOp)]
    if len(kept) < 2 or not _LOGITS.search(ast.unparse(kept[0])):
        return None
    return (kept[0], kept[1]) if _IDS.search(ast.unparse(kept[1])) else None


def _cuts(node: ast.expr, held: dict[str, ast.expr], depth: int = 6) -> list[str]:
    """The cuts of the second axis on the way from a model's output, or a batch, to a value."""
    found: list[str] = []
    while depth:
        depth -= 1
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 1:
                cut = ast.unparse(node.slice.elts[1])
                found += [cut] if cut not in (":", "None") else []
            node = node.value
        elif isinstance(node, ast.Call):
            inner = getattr(node.func, "value", None)
            is_module = name_of(inner) in ("torch", "F", "functional", "nn")
            if (inner is None or is_module) and not node.args:
                break
            node = node.args[0] if inner is None or is_module else inner
        elif isinstance(node, ast.Name) and node.id in held:
            node = held[node.id]
        else:
            break
    return found


def _of_this_moment(rows: list, beside: Beside, log: Log) -> Iterator[Finding]:
    """Old and new log-probs by one call on one model, within a loop over minibatches."""
    again, olds = None, {}
    for line, statement in rows:
        if isinstance(statement, ast.FunctionDef):
            again, olds = None, {}
        if isinstance(statement, ast.For):
            head = f"{ast.unparse(statement.target)} in {ast.unparse(statement.iter)}"
            again = line if _AGAIN.search(head) else again
            olds = {} if _AGAIN.search(head) else olds
        for target, value in bound(statement):
            name, of = name_of(target), _scored_by(value)
            if again and of and _OLD.match(name) and _LOGP.search(name):
                olds[of] = (line, name)
            elif of in olds and _LOGP.search(name) and not re.search("ref", name):
                yield from _as_found(beside, log, (again, *olds.pop(of)), (line, name))
                return


def _scored_by(value: ast.expr) -> str:
    """The call of a function on a model, without what only takes it off the graph."""
    while isinstance(value, ast.Call) and name_of(value.func) in ("detach", "clone", "float"):
        value = getattr(value.func, "value", value.args[0] if value.args else None)
    if not isinstance(value, ast.Call) or not value.args:
        return ""
    first = ast.unparse(value.args[0])
    return ast.unparse(value) if _MODEL.match(first) and "ref" not in first else ""


def _as_found(beside: Beside, log: Log, old: tuple, new: tuple) -> Iterator[Finding]:
    again, at, name = old
    ratios, clipped = _columns(beside, log, _RATIO), _columns(beside, log, _CLIPPED)
    if any(abs(one - 1) > NEAR for one in ratios) or any(clipped):
        return
    proof = [again.says, at.says, new[0].says]
    proof += [f"the ratio is 1 in all {len(ratios)} rows"] if len(ratios) >= FEW else []
    proof += [f"nothing is clipped in {len(clipped)} rows"] if len(clipped) >= FEW else []
    is_shown = len(ratios) >= FEW or len(clipped) >= FEW
    why = OF_NOW.format(old=name, new=new[1])
    weight = SURE if is_shown else SHOWN
    yield Finding("old_is_current", weight, at, tuple(proof), why=why, advice=BEFORE)


def _columns(beside: Beside, log: Log, name: re.Pattern) -> list[float]:
    return [one[1] for row in rows_of(beside, log) if (one := row.first(name))]


def _left_without_mask(rows: list, beside: Beside, log: Log) -> Iterator[Finding]:
    """A model that scores ids without their mask, where the rows are padded on the left."""
    left = beside.matching(_LEFT)
    if left is None:
        return
    for line, statement in rows:
        for call in calls(statement):
            is_scoring = _MODEL.match(ast.unparse(call.func)) and "logits" in line.text
            is_open = any(one.arg is None for one in call.keywords) or len(call.args) > 1
            has_ids = call.args or keyword(call, "input_ids")
            if not is_scoring or is_open or not has_ids or keyword(call, "attention_mask"):
                continue
            shown = _by_padding(beside, log)
            proof = (line.says, left[0].says, *shown)
            weight = SURE if shown else SHOWN
            yield Finding("padding_attended", weight, line, proof, why=UNMASKED, advice=MASK_IT)
            return


def _by_padding(beside: Beside, log: Log) -> list[str]:
    """Rows of which those with more padding are further off."""
    found: dict[str, list[tuple[float, float, str]]] = {}
    for row in rows_of(beside, log):
        pads = row.first(_PADS)
        for name, value in row.numbers.items() if pads else ():
            if _APART.search(name):
                found.setdefault(name, []).append((pads[1], value, row.at.where))
    for name, rows in found.items():
        (few, near, _), (many, far, at) = min(rows), max(rows)
        if len(rows) >= FEW and many > few and far > 3 * abs(near):
            return [
                f"{name} is {near:g} with {few:g} tokens of padding, {far:g} with {many:g} ({at})"
            ]
    return []
