"""An adapter that is merged into a few bits, whose merge is thrown away, or that is filtered twice
when it is saved."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.calls.given import Found, Row, Rule, keyword, told, written

_BITS = re.compile(r"^(?:load_in_[48]_?bit|quantization_config)$")
_BACK = re.compile(r"dequanti[sz]e|merged_16bit")
_OF_MERGE = re.compile(
    r"merg\w+.{0,120}(?:worse|differ|gibberish|garbage|mismatch|degrad|nonsense|drop|quality|lower|"
    r"not match|same|bad|wrong|lost?\b|los[es]|forg)|(?:worse|differ|gibberish|garbage|degrad|drop|"
    r"quality|lower|not match|nonsense|forg).{0,80}\bmerg",
    re.IGNORECASE,
)
_OF_SAVED = re.compile(
    r"\bsav(?:e|ed|ing)\b|\bload|infer|\bempty\b|\b\d+ ?(?:k?b|bytes)\b|no effect|\bbase\b|"
    r"adapter_model",
    re.IGNORECASE,
)
_FILTER = "get_peft_model_state_dict"


def _merged_in_bits(rows: list[Row], beside: Beside) -> Found:
    """`merge_and_unload` on a base that is loaded in 4 or 8 bits."""
    few: dict[str, Line] = {}
    for row in rows if not beside.matching(_BACK) else ():
        for call in calls(row.one):
            if name_of(call.func) in ("merge_and_unload", "merge_adapter"):
                for one in ast.walk(call.func.value):
                    if at := _in_bits(one, row.line) or few.get(written(one)):
                        return [at, row.line], written(call.func.value)
        for target, value in bound(row.one):
            made = list(calls(value))
            given = {written(arg) for call in made for arg in _all_given(call)}
            at = next((at for call in made if (at := _in_bits(call, row.line))), None)
            at = at or next((few[one] for one in given if one in few), None)
            for one in target.elts[:1] if isinstance(target, ast.Tuple) else [target]:
                few.pop(written(one), None)
                few |= {written(one): at} if at else {}
    return None


def _all_given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]


def _in_bits(node: ast.AST, line: Line) -> Line | None:
    """The line, where a model is loaded in a few bits by this call."""
    if not isinstance(node, ast.Call) or name_of(node.func) != "from_pretrained":
        return None
    said = {one.arg: written(one.value) for one in node.keywords if _BITS.match(one.arg or "")}
    return line if any(value not in ("None", "False") for value in said.values()) else None


def _filtered_twice(rows: list[Row], beside: Beside) -> Found:
    """A state dict of the adapter alone, which save_pretrained then filters once more."""
    held: dict[str, Line] = {}
    for row in rows:
        for target, value in bound(row.one):
            name = written(target)
            is_filtered = any(name_of(one) == _FILTER for one in ast.walk(value))
            held.pop(name, None)
            held |= {name: row.line} if is_filtered else {}
        save = row.calls.get("save_pretrained")
        if save is None:
            continue
        given, owner = keyword(save, "state_dict"), written(getattr(save.func, "value", None))
        if given is not None and (_FILTER in written(given) or written(given) in held):
            return [held.get(written(given), row.line), row.line], owner
        if at := held.get(f"{owner}.state_dict"):
            return [at, row.line], owner
    return None


def _thrown_away(rows: list[Row], beside: Beside) -> Found:
    """`model.merge_and_unload()` alone on its line, and the wrapper is saved behind it."""
    merged: dict[str, Line] = {}
    for row in rows:
        for target, _ in bound(row.one):
            merged.pop(written(target), None)
        for name in ("save_pretrained", "push_to_hub"):
            owner = written(getattr(getattr(row.calls.get(name), "func", None), "value", None))
            if owner in merged:
                return [merged[owner], row.line], owner
        merge = row.one.value if isinstance(row.one, ast.Expr) else None
        if isinstance(merge, ast.Call) and name_of(merge.func) == "merge_and_unload":
            merged[written(getattr(merge.func, "value", None))] = row.line
    return None


_RULES = (
    Rule(
        _thrown_away,
        "merged_not_equal",
        "`merge_and_unload()` returns the merged model, and its result is thrown away: what is "
        "saved is `{}`, the adapter's wrapper, which has no adapter left, so that the file holds "
        "next to nothing (some 40 bytes) beside an adapter_config.json, and loads as the base",
        "merged = model.merge_and_unload(), and merged.save_pretrained(path); the folder must hold "
        "model files of the base's size and no adapter_config.json; no need to train again",
        of_learning=False,
    ),
    Rule(
        _merged_in_bits,
        "merged_not_equal",
        "`{}` stands on a base that is loaded in 4 or 8 bits, and the adapter is merged into it: "
        "the sum is rounded to these few bits, and what is lost is of the size of what was learnt",
        "load the base again in bfloat16 without quantization, put the adapter on it with "
        "PeftModel.from_pretrained(base, path), and call merge_and_unload() on that",
        complaint=_OF_MERGE,
        of_learning=False,
    ),
    Rule(
        _filtered_twice,
        "adapter_not_loaded",
        "`{}.save_pretrained` gets a state dict that get_peft_model_state_dict has filtered "
        "already, and filters it once more by names that are no longer there: the adapter that is "
        "saved is empty, and loads as the base model",
        "leave the state_dict of the model alone and call model.save_pretrained(path), which "
        "filters by itself; see that adapter_model has megabytes",
        complaint=_OF_SAVED,
        of_learning=False,
    ),
)


def wrong_in_what_is_kept(beside: Beside, log: Log) -> Iterator[Finding]:
    return told(beside, log, _RULES)
