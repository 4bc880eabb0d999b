"""Judges the counts that were taken of a run's steps."""

import math
from statistics import median

from course_utils.diagnostics.diagnosis.judges.clipping import judge_clipping
from course_utils.diagnostics.diagnosis.judges.held import judge_held
from course_utils.diagnostics.diagnosis.judges.rates import judge_rates
from course_utils.diagnostics.diagnosis.judges.reach import judge_reach
from course_utils.diagnostics.diagnosis.judges.resumed import judge_resumed
from course_utils.diagnostics.diagnosis.measures.comparing import is_merged
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import STOOD, UNMOVED
from course_utils.diagnostics.diagnosis.sheet.subject import POLICY, Subject
from course_utils.diagnostics.diagnosis.watches.pace import Pace
from course_utils.diagnostics.diagnosis.watches.steps import Steps
from course_utils.diagnostics.gradient_flow.report import same_layers

CUT_OR_UNUSED = (
    "the graph is cut above them (detach, no_grad, reentrant checkpointing), or no forward pass "
    "uses them; audit_gradients(model, batch) names the cut if there is one"
)
FEW = 0.05  # share that moves in a step where nearly all of it is rounded away
STILL = 1e-3  # a step that moves a smaller share of the weights does not count
USUAL = 0.5  # share that moves in a step of float32 weights, and far less in narrow formats
CLIPPED = 1.1  # how much larger a norm in the log is than the optimizer's, if it was clipped
ENOUGH = 8  # steps
MOSTLY = 0.5  # of the trained tensors
OFTEN, BACK = 3, 0.2  # times that weights are written; share of the way that is taken back
ROUNDING = 1e-6  # a norm: far below what a loss of a model has
LARGE = 0.5  # update by weight, in the median of the steps


def judge_steps(
    subject: Subject, steps: Steps, sheet: Sheet, *, num_counted: int = 0, pace: Pace | None = None
) -> None:
    """Write down the findings on the steps.

    Args:
        num_counted: steps that the Trainer counted, to tell those that a scaler skipped.
        pace: what else was counted beside them.
    """
    for error in steps.failures[:1]:
        sheet.fail("a step", error)
    sheet.moved = steps.moved_by_group()
    if not steps.numbers:
        _no_step(subject, steps, sheet, num_counted if pace is None or pace.passes else 0)
        return
    _skipped(steps, sheet, num_counted)
    judge_held(subject, steps, sheet)
    _gradients(subject, steps, sheet)
    _movement(subject, steps, sheet)
    if len(steps.counts) >= ENOUGH and max(steps.counts) == 1:
        said = f"in all {len(steps.counts)} steps the optimizer counts its first"
        sheet.find("optimizer_made_anew", COUNTED, said, place="where the optimizer is made")
    _written_by_others(subject, steps, sheet)
    steps.copies.judge(sheet)
    judge_rates(subject, steps, pace, sheet)
    judge_reach(subject, steps, sheet)
    if pace is not None:
        judge_resumed(subject, steps, pace, sheet)


def _written_by_others(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    """Weights that change between two steps: by an evaluation, or back to where they were."""
    if not steps.between:
        return
    rows = (row for row in subject.log if any(name.startswith("eval_") for name in row))
    shown = ", ".join(map(str, steps.between[:4]))
    if set(steps.between) <= {row.get("step") for row in rows}:
        sheet.find(
            "evaluation_writes_weights",
            COUNTED,
            f"behind the evaluations at the steps {shown} most weights are others than those of "
            "the last step, and nowhere else",
            place="evaluate, its callbacks",
        )
    elif len(steps.between) >= OFTEN and (back := median(steps.taken_back)) > BACK:
        sheet.find(
            "weights_taken_back",
            COUNTED,
            f"behind {len(steps.between)} of {len(steps.numbers)} steps ({shown}, ...) most "
            f"weights are others than the step left them: {back:.0%} of the way since the time "
            "before is gone, in the median",
            place="what writes weights between two steps: callbacks, an average of the weights",
        )


def _no_step(subject: Subject, steps: Steps, sheet: Sheet, num_counted: int) -> None:
    if steps.strangers:
        name, count = steps.strangers.most_common(1)[0]
        whose = (
            "on the model's frozen tensors"
            if steps.frozen[name]
            else "of an optimizer that holds no tensor"
            if name in steps.empty
            else "on tensors that are not the model's"
        )
        said = f"{count} steps of {name} were {whose}"
        sheet.became(STOOD, f"none of {count} steps reached a weight")
        sheet.find("optimizer_holds_others", COUNTED, said, place=name)
    elif num_counted and not steps.failures:
        said = f"{num_counted} steps were counted and none reached the optimizer"
        sheet.find("steps_skipped", COUNTED, said, place="GradScaler")
    elif logged := sum("loss" in row for row in subject.log):
        sheet.miss("steps", f"the log has {logged}, and none was taken in this process")
    else:
        sheet.miss("steps", "no optimizer stepped")


def _skipped(steps: Steps, sheet: Sheet, num_counted: int) -> None:
    taken = steps.num_steps
    if num_counted > 4 and taken < num_counted / 2:
        said = f"{num_counted - taken} of {num_counted} steps did not reach the weights"
        sheet.find("steps_skipped", MEASURED, said, place="GradScaler")


def _gradients(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    last, taken = steps.numbers[-1], len(steps.numbers)
    never = [n for n, count in steps.without_grad.items() if count == taken]
    never = [name for name in never if name not in subject.idle]
    if never and all("pooler" in name.split(".") for name in never):
        sheet.show("gradients", f"none for {never[0]}: other vectors are read than the pooler's")
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
    now = steps.numbers[-1].num_without_grad
    if now <= MOSTLY * steps.numbers[-1].num_trainable:
        return False
    had = max((one.step for one in steps.numbers if one.num_without_grad < now), default=0)
    since = steps.num_steps - had
    if not had or since < ENOUGH:
        return False
    lost = [n for n, p in subject.trainable().items() if p.grad is None or steps.without_grad[n]]
    merged = is_merged(subject.model)
    more = {
        "why": f"since step {had} the adapter is merged into the weights below it, and a merged "
        "adapter has no part in the forward pass: it gets no gradient",
        "advice": "unmerge_adapter() behind whatever merges it, or merge a copy",
    }
    sheet.find(
        "weight_without_gradient",
        COUNTED,
        f"{now} of {steps.numbers[-1].num_trainable} trainable tensors have no gradient in the "
        f"last {since} steps, and had one before",
        f"such as {lost[0]}" if lost else "",
        place="merge_adapter" if merged else same_layers(lost[0]) if lost else "",
        rivals="" if merged else CUT_OR_UNUSED,
        **(more if merged else {"why": "weights that were trained lose their gradient midway"}),
    )
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


def _movement(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    with_rate = [one for one in steps.numbers if one.lr > 0 and one.grad_norm > 0]
    if all(one.lr == 0 or one.grad_norm == 0 for one in steps.numbers):
        sheet.became(STOOD, f"none of {len(steps.numbers)} steps had a rate and a gradient")
    if not with_rate:
        return
    share = median(one.share_moved for one in with_rate)
    if share <= STILL:
        said = f"a step moves {share:.2%} of the weights, in the median of {len(with_rate)}"
        is_narrow = any("bfloat16" in str(p.dtype) for p in subject.trainable().values())
        key = "rounding_swallows" if is_narrow else "weights_do_not_move"
        sheet.find(key, MEASURED + 1, said)
        sheet.became(STOOD, said)
        return
    still = [name for name, count in steps.moved.items() if count == 0]
    said = f"{100 * share:.3g}% in a step; {len(still)} of {len(steps.moved)} tensors never did"
    if share < FEW or still:
        sheet.became(STOOD if share < FEW else UNMOVED, f"weights that move: {said}")
    if share >= USUAL and not still:
        sheet.clear("weights that move", said)
    else:
        sheet.show("weights that move", said, usual=share >= USUAL)
    update = median(one.largest_update for one in with_rate)
    if update > LARGE:
        said = f"a step changes {steps.largest_at} by {update:.0%} of its size, in the median"
        sheet.find("update_too_large", LIKELY, said, place="learning_rate")
