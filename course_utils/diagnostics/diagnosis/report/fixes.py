"""Writes a fix in the run's own settings: their names, their values, and the values to set."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from course_utils.diagnostics.diagnosis.sheet.finding import Found
from course_utils.diagnostics.diagnosis.sheet.harm import ENDLESS
from course_utils.diagnostics.libraries.arguments import as_installed

Values = Mapping[str, Any]
MENU = re.compile(r"[,;] or .*", re.DOTALL)  # what stands behind the first way
WIDER = re.compile(r"\b(load|keep)\b[^;]*float32|^float32")
CUT = {"replies_cut", "rewards_cut"}


def with_own_values(one: Found, values: Values, outcomes: Mapping[str, str] | None = None) -> str:
    """The fix of a finding; with the run's own values where they are known.

    >>> with_own_values(Found("rate_too_high", 5.0, ("",)), {"learning_rate": 0.003})
    'learning_rate=0.003 -> 0.0003'
    >>> with_own_values(Found("rate_too_high", 5.0, ("",)), {})
    'a tenth of the learning rate'
    """
    cause = one.cause
    fix = one.advice or cause.one_fix or MENU.sub("", cause.fix)
    own = CHANGES[cause.settings_fix](values, one) if cause.settings_fix else ""
    own = own or _setting(fix, values)
    is_wide = values.get("weights_format") == "float32" and not values.get("fp16")
    if is_wide and WIDER.search(fix) and (one.is_of_log or not one.advice):
        return f"{cause.look} (the weights are float32 already)"
    if own and one.key in CUT and ENDLESS in (outcomes or {}):
        return f"{own}: {outcomes[ENDLESS]}"
    return as_installed(own or fix)


def _change(values: Values, name: str, to: Callable[[Any], Any]) -> str:
    """`name=old -> new`, "" where the run has no such setting."""
    old = values.get(name)
    if old is None or (isinstance(old, bool) and not old):
        return ""
    return f"{name}={_said(old)} -> {_said(to(old))}"


def _setting(fix: str, values: Values) -> str:
    """`name=old -> new` for a fix `name=new`, where the run has another value."""
    name, _, new = fix.partition("=")
    old = values.get(name)
    is_other = old is not None and new and " " not in new and _said(old) != new
    return f"{name}={_said(old)} -> {new}" if is_other else ""


def _said(value: Any) -> str:
    value = getattr(value, "value", value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _tenth(values: Values, _one: Found) -> str:
    return _change(values, "learning_rate", lambda rate: rate / 10)


def _usual(values: Values, _one: Found) -> str:
    return _change(values, "learning_rate", lambda rate: rate / 1000)


def _longer(values: Values, one: Found) -> str:
    """Room for the replies; what was cut is said beside it."""
    of_trl = _change(values, "max_completion_length", lambda limit: 4 * limit)
    return of_trl or _change(values, "response_length", lambda limit: 4 * limit)


def _no_division(values: Values, _one: Found) -> str:
    scale = values.get("scale_rewards")
    said = _said(scale)
    off = "False" if isinstance(scale, bool) else "none"  # TRL 0.16 to 0.19 know no other
    return "" if said in ("None", "none", "False") else f"scale_rewards={said} -> {off}"


def _wide(values: Values, _one: Found) -> str:
    return "fp16=True -> False, bf16=False -> True" if values.get("fp16") is True else ""


def _no_entropy(values: Values, _one: Found) -> str:
    return _change(values, "entropy_coeff", lambda _: 0)


def _shorter_warm_up(values: Values, _one: Found) -> str:
    warm_up, steps = values.get("warmup_steps") or 0, values.get("max_steps") or 0
    is_longer = 0 < steps <= warm_up
    return f"warmup_steps={_said(warm_up)} -> {max(1, steps // 10)}" if is_longer else ""


def _room(values: Values, one: Found) -> str:
    """A longer row, where rows end at the limit before their reply."""
    limit = values.get("max_length")
    is_cut = limit and any(f"end at {limit} tokens" in said for said in one.said)
    return f"max_length={limit} -> {max(1024, 4 * limit)}" if is_cut else ""


def _other_packing(values: Values, _one: Found) -> str:
    how = values.get("packing_strategy")
    return f"packing_strategy={how} -> bfd" if how not in (None, "bfd") else ""


def _group(values: Values, _one: Found) -> str:
    """More replies to a prompt, where the std of one is nan."""
    names = ("num_generations", "n")
    name = next((name for name in names if values.get(name) == 1), "")
    return f"{name}=1 -> 8: the std of one reward is nan" if name else ""


def _freeze(_values: Values, one: Found) -> str:
    return f"freeze {one.place}: keep it out of target_modules" if one.place else ""


# What the `settings_fix` of a cause names.
CHANGES: dict[str, Callable[[Values, Found], str]] = {
    "a tenth of the rate": _tenth,
    "a thousandth of the rate": _usual,
    "longer replies": _longer,
    "no division": _no_division,
    "bfloat16": _wide,
    "no entropy bonus": _no_entropy,
    "shorter warm-up": _shorter_warm_up,
    "longer rows": _room,
    "packing that keeps rows apart": _other_packing,
    "freeze the place": _freeze,
    "more replies to a prompt": _group,
}
