"""Looks at what a run leaves behind: the merged model against the one that was trained."""

import copy
import math

from torch import nn

from course_utils.diagnostics.diagnosis.comparing import compare_models, lacks_adapter
from course_utils.diagnostics.diagnosis.comparison import Comparison
from course_utils.diagnostics.diagnosis.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.subject import Subject

APART = 0.05  # of the logits' spread: what merging in the base's own format may change


def look_at_outcome(subject: Subject, sheet: Sheet) -> None:
    """The served model, if there is one; and the model with its adapter merged, on a copy."""
    if subject.served is not None:
        with sheet.trying("the served model"):
            is_model = isinstance(subject.served, nn.Module)
            served = subject.served if is_model else subject.served()
            found = compare_models(subject.model, served, subject.batch)
            if not found.is_same and lacks_adapter(subject.model, served):
                said = "the served weights are those of the base, to the last digit"
                sheet.find("adapter_not_loaded", COUNTED, said, found.headline, place=found.place)
            else:
                _judge(found, sheet, "served")
    if hasattr(subject.model, "merge_and_unload") and subject.batch is not None:
        with sheet.trying("merging"):
            merged = _merged(subject.model)
            _judge(compare_models(subject.model, merged, subject.batch), sheet, "merged")


def _merged(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model).merge_and_unload()


def _judge(found: Comparison, sheet: Sheet, what: str) -> None:
    lacks = [one for one in found.others if one.what.startswith("only")]
    if found.logits_apart is not None and not math.isfinite(found.logits_apart):
        sheet.miss(f"{what} model", "its logits are not finite")
        return
    is_apart = found.logits_apart is not None and found.logits_apart > APART
    if not is_apart and not lacks and found.is_same:
        sheet.clear(f"{what} model", found.said or found.headline)
        return
    if not is_apart and found.logits_apart is not None:
        sheet.clear(f"{what} model", found.said)
        return
    key = "adapter_not_loaded" if lacks else "merged_not_equal"
    weight = COUNTED if lacks else MEASURED + 1
    sheet.find(key, weight, f"{what}: {found.headline}", place=found.place)
