"""An optimizer's step with the wrong weights, the wrong gradients, or none."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.calls.given import (
    Found,
    Row,
    Rule,
    keyword,
    maker,
    told,
    written,
)

_NEW = re.compile(r"^(?:from_pretrained|from_config|get_peft_model|FSDP|FullyShardedDataParallel)$")
_PUT_IN = re.compile(r"^(?:resize_token_embeddings|add_adapter|set_(?:in|out)put_embeddings)$")
_INTO = re.compile(r"^(?:fully_shard|(?:inject|apply|add|replace)_\w*(?:lora|adapter|linear)\w*)$")
_PART = re.compile(r"Linear|Embedding|Head|Sequential|MLP|LoRA|Parameter|Adapter|Projector", re.I)
_LATER = re.compile(r"add_param_group|param_groups\.append")
_CLEARED = re.compile(
    r"zero_?grad|\.grad\s*=|\.zero_\(|clear_grad|set_to_none|deepspeed|closure|optimizer_step|"
    r"^\W*(?:\.\.\.|\u2026)|autograd\.grad|dist_autograd",
    re.IGNORECASE,
)
_LEAVES = re.compile(r"^(?:continue|return|raise|break|else|elif|except)\b")
_NO_SCALER = re.compile(r"enabled\s*=\s*False")


def _made_before(rows: list[Row], beside: Beside) -> Found:
    """An optimizer above what replaces the weights that it holds, or beside a peft_config."""
    made = put = None
    for row in rows:
        if row.is_block or isinstance(row.one, ast.Return):
            made = put = None
        used = row.calls.keys() & {"backward", "step"} or (row.by and keyword(row.by, "optimizers"))
        if made and used:
            wraps = row.by and keyword(row.by, "optimizers") and keyword(row.by, "peft_config")
            if put or wraps:
                of = ", ".join(sorted(made.trains))
                return None if beside.matching(_LATER) else ([made.line, (put or row).line], of)
            made = None
        if row.trains and not name_of(row.by.func).endswith("Trainer"):
            made, put = row, None
        elif made:
            put = put or next((row for one in made.trains if _replaces(row, one)), None)
    return None


def _replaces(row: Row, model: str) -> bool:
    """Whether a statement puts new weights into a model that is written like that."""
    for target, value in bound(row.one):
        call, name = maker(value), written(target)
        who = name_of(call.func) if call else ""
        if name == model and _NEW.match(who):
            return True
        if name.startswith(f"{model}.") and who[:1].isupper() and _PART.search(who):
            return True
    for call in calls(row.one):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        given = written(call.args[0]) if call.args else ""
        if owner is not None and written(owner) == model and _PUT_IN.match(name_of(call.func)):
            return True
        if given == model and (_INTO.match(name_of(call.func))):
            return True
    return False


def _clipped_while_scaled(rows: list[Row], beside: Beside) -> Found:
    """Clipping between the backward of a scaled loss and the scaler's step, not unscaled."""
    scaled = clipped = None
    for row in rows if not beside.matching(_NO_SCALER) else ():
        if row.is_block:
            scaled = clipped = None
        for name, call in row.calls.items():
            holder = call.func.value if isinstance(call.func, ast.Attribute) else None
            owner = written(holder).lower()
            if name == "scale" and "scaler" in owner:
                scaled, clipped = row.line, None
            elif name == "unscale_":
                scaled = None
            elif name in ("clip_grad_norm_", "clip_grad_value_") and scaled:
                is_own = re.search(r"accelerator|fabric|engine", owner)
                clipped = None if is_own else row.line
            elif name == "step" and clipped and "scaler" in owner:
                return [clipped, row.line], written(call.func)
    return None


def _never_cleared(rows: list[Row], beside: Beside) -> Found:
    """A loop with backward and step, and nothing in the paste that clears the gradients."""
    if beside.matching(_CLEARED):
        return None
    loop = back = None
    for row in rows:
        if row.is_block:
            loop = back = None
        loop = row.line if isinstance(row.one, (ast.For, ast.While)) else loop
        back = row.line if loop and "backward" in row.calls else back
        if back and (step := row.calls.get("step")) and _is_optimizers(step):
            return [back, row.line], written(step.func)
    return None


def _is_optimizers(step: ast.Call) -> bool:
    owner = getattr(step.func, "value", None)
    return bool(re.search(r"optim|\bopt|scaler", written(owner), re.I)) and name_of(owner) != ""


def _cleared_too_early(rows: list[Row], beside: Beside) -> Found:
    """zero_grad between backward and step, of the same optimizer or of the model."""
    back = clear = None
    for row in rows:
        if row.is_block or isinstance(row.one, (ast.For, ast.While)):
            back = clear = None
        for name, call in row.calls.items():
            owner = written(getattr(call.func, "value", None))
            if name == "backward":
                back, clear = row.line, None
            elif name == "zero_grad" and back:
                clear = (row.line, owner)
            elif name == "step" and clear and _is_optimizers(call):
                stepped = written(call.args[0]) if call.args and "scaler" in owner else owner
                is_same = clear[1] in (stepped, "model", "self.model", "net")
                if is_same and not _leaves(clear[0], row.line, beside):
                    return [back, clear[0], row.line], clear[1]
                back = clear = None
            elif name == "step" and _is_optimizers(call):
                back = None
    return None


def _leaves(above: Line, below: Line, beside: Beside) -> bool:
    """Whether the code goes elsewhere between two lines, as where a step is left out."""
    between = beside.within(above.where, below.where)
    return between.matching(_LEAVES) is not None


_RULES = (
    Rule(
        _made_before,
        "optimizer_holds_others",
        "the optimizer is made from `{}` before its weights are replaced or new ones are put in: "
        "it holds the tensors of before, so that the new ones are never stepped",
        "first all that changes the model (adapter, resize, new head, reload, sharding), then the "
        "optimizer from model.parameters(); to a Trainer that makes the adapter itself "
        "(peft_config) pass no optimizer",
    ),
    Rule(
        _clipped_while_scaled,
        "clipped_while_scaled",
        "the gradients are clipped before `{}`, while the loss scale is still in them: their norm "
        "is thousands of times too large, the clip takes nearly all of it, and the scale is "
        "divided out of what is left",
        "call scaler.unscale_(optimizer) once between backward and clip_grad_norm_; bfloat16 needs "
        "no scaler",
    ),
    Rule(
        _never_cleared,
        "gradients_not_cleared",
        "the loop calls backward and `{}`, and nothing clears the gradients: each step goes along "
        "the sum of all gradients so far",
        "call optimizer.zero_grad() once for each optimizer.step(), right behind it",
    ),
    Rule(
        _cleared_too_early,
        "cleared_before_step",
        "`{}.zero_grad()` stands between backward and the optimizer's step, so that the step finds "
        "no gradient and changes nothing",
        "move zero_grad() behind optimizer.step(), or before the forward pass",
    ),
)


def wrong_in_the_step(beside: Beside, log: Log) -> Iterator[Finding]:
    return told(beside, log, _RULES)
