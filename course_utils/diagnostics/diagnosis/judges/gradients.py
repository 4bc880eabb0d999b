"""Judges the gradients of a run's steps: none, lost midway, next to 0, clipped."""

import math
from statistics import median

from course_utils.diagnostics.diagnosis.judges.clipping import judge_clipping
from course_utils.diagnostics.diagnosis.measures.comparing import is_merged
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import POLICY, Subject
from course_utils.diagnostics.diagnosis.watches.steps import Steps
from course_utils.diagnostics.gradient_flow.report import same_layers

CUT_OR_UNUSED = (
    "the graph is cut above them (detach, no_grad, reentrant checkpointing), or no forward pass "
    "uses them; audit_gradients(model, batch) names the cut if there is one"
)
CLIPPED = 1.1  # how much larger a norm in the log is than the optimizer's, if it was clipped
MOSTLY = 0.5  # of the trained tensors
ROUNDING = 1e-6  # a norm: far below what a loss of a model has
ENOUGH = 8  # steps
# Of models of transformers: what only some tasks read, or what a masking of the input needs.
SPARE = {"pooler", "masked_spec_embed", "mask_token"}


def judge_gradients(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    """Which weights get a gradient, in which steps, and how large it is."""
    last, taken = steps.numbers[-1], len(steps.numbers)
    never = [n for n, count in steps.without_grad.items() if count == taken]
    never = [name for name in never if name not in subject.idle]
    if never and all(SPARE & {*name.split(".")} for name in never):
        sheet.show("gradients", f"none for {never[0]}: this run does not use it")
        return
    if never:
        said = f"{len(never)} of {last.num_trainable} trainable tensors never had a gradient"
        weight = COUNTED if len(never) >= last.num_trainable / 2 else MEASURED
        place = same_layers(never[0])
        why = "trainable weights have no gradient in any step"
        such = f"such as {never[0]}"
        sheet.find(
            "weight_without_gradient",
            weight,
            said,
            such,
            place=place,
            why=why,
            rivals=CUT_OR_UNUSED,
        )
        return
    if _lost(subject, steps, sheet):
        return
    dead = sum(one.grad_norm == 0 for one in steps.numbers)
    if dead == taken:
        said = f"grad_norm is exactly 0 in {'the step' if taken == 1 else f'all {taken} steps'}"
        sheet.find("no_gradient", MEASURED - 2, said, **_without_rewards(subject))
        return
    norms = median(one.grad_norm for one in steps.numbers)
    if judge_clipping(steps, sheet) or not math.isfinite(norms):
        return
    if taken >= ENOUGH and _next_to_none(subject, steps, norms, sheet):
        return
    norm = _before_and_after(subject, steps, norms)
    sheet.clear("gradients", f"all {last.num_trainable} tensors have one, norm {norm}")


def _lost(subject: Subject, steps: Steps, sheet: Sheet) -> bool:
    """Most trained tensors had a gradient, and from one step on none of them has one again."""
    now, whole = steps.numbers[-1].num_without_grad, steps.numbers[-1].num_trainable
    had = max((one.step for one in steps.numbers if one.num_without_grad < now), default=0)
    since = steps.num_steps - had
    lost = [name for name, count in steps.without_grad.items() if count >= since]
    if now <= MOSTLY * whole or not had or since < ENOUGH or not lost:
        return False
    more = {
        "place": same_layers(lost[0]),
        "why": "weights that were trained lose their gradient midway",
        "rivals": CUT_OR_UNUSED,
    }
    if is_merged(subject.model):
        more = {
            "place": "merge_adapter",
            "why": f"since step {had} the adapter is merged into the weights below it, and a "
            "merged adapter has no part in the forward pass: it gets no gradient",
            "advice": "unmerge_adapter() behind whatever merges it, or merge a copy",
        }
    said = f"{now} of {whole} trainable tensors have no gradient in the last {since} steps, and had"
    such = f"such as {lost[0]}"
    sheet.find("weight_without_gradient", COUNTED, f"{said} one before", such, **more)
    return True


def _next_to_none(subject: Subject, steps: Steps, norms: float, sheet: Sheet) -> bool:
    """A gradient of rounding alone, or one of exactly 0 for most of the trained tensors."""
    zeros = [one.num_zero_grad for one in steps.numbers]
    whole = steps.numbers[-1].num_trainable
    if min(zeros) > MOSTLY * whole:
        said = f"the gradient of {min(zeros)} of {whole} trained tensors is exactly 0 in all "
        said += f"{len(zeros)} steps"
        sheet.find("gradient_mostly_zero", MEASURED, said)
        return True
    is_raw = all(one.clipped_to is None for one in steps.numbers)
    if norms < ROUNDING and is_raw and subject.kind != POLICY:
        said = f"grad_norm is {norms:.1g} in the median of {len(zeros)} steps"
        more = {
            "why": "the gradient of every step is next to 0: what is left of it is rounding",
            "rivals": "two terms that are the same cancel (a reference that is the policy itself), "
            "or the loss hardly depends on the weights",
        }
        sheet.find("no_gradient", LIKELY, said, **more)
        return True
    return False


def _without_rewards(subject: Subject) -> dict[str, str]:
    """Other words where it was not seen that the rewards of a group differ."""
    spreads = subject.logged("reward_std")
    if subject.kind != POLICY:
        return {
            "why": "the gradient of every trained weight is exactly 0",
            "rivals": "no label counts, or the loss does not depend on the weights",
        }
    if any(v > 0 for v in spreads):
        return {}
    return {
        "why": "no gradient arrives in any step",
        "rivals": "all replies to a prompt earn the same (no reward_std above 0 was seen), or what "
        "is trained and what computes the loss are not connected",
    }


def _before_and_after(subject: Subject, steps: Steps, clipped: float) -> str:
    """The gradient's norm in the log and as the optimizer gets it, where the two differ.

    The log's is the one before clipping, and so the one that says how the run is doing.
    """
    raw = [float(v) for v in subject.logged("grad_norm") if math.isfinite(v)]
    if raw and _is_clipped(subject, steps, median(raw), clipped):
        return f"{median(raw):.2g} -> {clipped:.2g} by clipping, in the median"
    if raw and median(raw) > CLIPPED * clipped:
        return f"{median(raw):.2g} in the log, {clipped:.2g} as the optimizer gets it"
    return f"{clipped:.2g} as the optimizer gets it"


def _is_clipped(subject: Subject, steps: Steps, raw: float, clipped: float) -> bool:
    """Whether clipping to the norm that was asked for explains the difference."""
    heard = [one.clipped_to for one in steps.numbers if one.clipped_to is not None]
    limit = median(heard) if heard else getattr(subject.args, "max_grad_norm", None)
    return bool(limit) and raw > CLIPPED * clipped and limit / CLIPPED < clipped < CLIPPED * limit
