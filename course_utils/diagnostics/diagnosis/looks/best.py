"""Looks at which checkpoint a run keeps as its best one."""

import math
import re
from typing import Any

from course_utils.causes.harms import EVALUATION, TRAINING
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

FALLS = r"errors?|err|wer|cer|loss|perplexity|ppl|mae|mse|rmse|nll|brier|eer"
RISES = r"accuracy|acc|f1|bleu|rouge|exact|auc|precision|recall|reward|mcc|map"
TURNED = r"neg|negative|inverse|free|no|minus|drop|gap|gain|reduction|improvement"
BEHIND = r"rate|score|match|mean|avg|average|micro|macro|weighted|total|roc|per|token|at|\d+"


def look_at_best(subject: Subject, sheet: Sheet) -> None:
    """The name of the metric says whether it should fall; `greater_is_better` must agree.

    Trainer's default takes every name that does not end in "loss" for one that should rise.
    """
    name = getattr(subject.args, "metric_for_best_model", None)
    is_greater = getattr(subject.args, "greater_is_better", None)
    meant = direction_of(name or "")
    if not name or is_greater is None or meant is None:
        return
    if meant == is_greater:
        sheet.clear("the direction of the best metric", f"{name}, greater_is_better={is_greater}")
        return
    better, kept = ("higher", "lowest") if meant else ("lower", "highest")
    stops = stops_early(subject.trainer)
    keeps = getattr(subject.args, "save_strategy", "no") != "no"
    kept_so = " and keeps its checkpoint" if keeps else ""
    then = " and stops when no evaluation goes beyond it" if stops else kept_so
    sheet.find(
        "worst_is_kept",
        MEASURED,
        f"metric_for_best_model is {name!r}, and greater_is_better is {is_greater}",
        place="greater_is_better",
        why=f"of {name!r} a {better} value is better, and the run takes the {kept} one for its "
        f"best{then}",
        advice=f"greater_is_better={meant}",
        where=TRAINING if stops else "",
    )


def stops_early(trainer: Any) -> bool:
    """Whether Transformers' EarlyStoppingCallback, by name, ends the run by its best metric."""
    callbacks = getattr(getattr(trainer, "callback_handler", None), "callbacks", ())
    names = {base.__name__ for one in callbacks for base in type(one).__mro__}
    return "EarlyStoppingCallback" in names


def look_at_best_after(subject: Subject, sheet: Sheet) -> None:
    """A metric that is nan chooses no checkpoint: no comparison with it is ever true."""
    name = getattr(subject.args, "metric_for_best_model", None)
    if not name:
        return
    field = name if name.startswith("eval_") else f"eval_{name}"
    values = _numbers(subject.log, field)
    bad = [value for value in values if not math.isfinite(value)]
    losses = [value for row in subject.log for value in _numbers([row], "loss")]
    if not bad or not losses or not all(map(math.isfinite, losses)):
        return
    chosen = "the first of them is kept" if not math.isfinite(values[0]) else "none after it is"
    sheet.find(
        "nan_metric",
        COUNTED,
        f"{field} is not finite in {len(bad)} of {len(values)} evaluations, and the training loss "
        f"is finite in all {len(losses)} entries",
        place=f"metric_for_best_model={name!r}, eval_dataset",
        why=f"{field} is nan, and the best checkpoint is chosen by it: no comparison with nan is "
        f"true, so {chosen}",
        advice="look for evaluation rows without a label (-100 everywhere, a cut reply), whose "
        "mean is 0 / 0, and for float16 in the evaluation",
        where=EVALUATION,
    )


def _numbers(log: list[dict], field: str) -> list[float]:
    return [float(row[field]) for row in log if isinstance(row.get(field), int | float)]


def direction_of(metric: str) -> bool | None:
    """Whether a metric of this name should rise; None where its words do not say.

    Most words behind a measure make another number of it: a gain, a gap, a skill.

    >>> direction_of("eval_error_rate"), direction_of("accuracy"), direction_of("neg_mse")
    (False, True, None)
    >>> direction_of("mse_skill"), direction_of("accuracy_drop"), direction_of("f1_macro")
    (None, None, True)
    """
    words = [word for word in re.split(r"[^a-z0-9]+", metric.lower()) if word]
    turned, falls, rises = (
        [bool(re.fullmatch(names, word)) for word in words] for names in (TURNED, FALLS, RISES)
    )
    if any(turned) or any(falls) == any(rises):
        return None
    last = max(at for at, pair in enumerate(zip(falls, rises, strict=True)) if any(pair))
    is_plain = all(re.fullmatch(BEHIND, word) for word in words[last + 1 :])
    return any(rises) if is_plain else None
