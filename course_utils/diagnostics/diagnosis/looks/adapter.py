"""Looks at what the adapter is on: whether the experts were meant to have one, and have none."""

from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.reach import adapter_reach
from course_utils.diagnostics.reach.groups import EXPERTS


def look_at_adapter(subject: Subject, sheet: Sheet) -> None:
    """Judge an adapter on a mixture of experts; whoever named attention alone has chosen it."""
    reach = adapter_reach(subject.model)
    experts = reach.groups.get(EXPERTS)
    if not reach.has_adapter or experts is None:
        return
    counted = f"{experts.num_adapted} of {experts.num_matrices} matrices of the experts have one"
    if not reach.misses_experts:
        sheet.clear("adapter", counted)
        return
    if not reach.means_experts:
        sheet.show("adapter", reach.headline)
        return
    sheet.find(
        "experts_without_adapter",
        MEASURED,
        counted,
        f"the experts are {experts.share:.0%} of the weights",
        place=reach.out_of_reach[0],
        advice=reach.fix,
    )
