"""Judges the counts that were taken of a run's steps."""

from statistics import median

from course_utils.diagnostics.diagnosis.judges.gradients import judge_gradients
from course_utils.diagnostics.diagnosis.judges.held import judge_held
from course_utils.diagnostics.diagnosis.judges.rates import judge_rates
from course_utils.diagnostics.diagnosis.judges.reach import judge_reach
from course_utils.diagnostics.diagnosis.judges.resumed import judge_resumed
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import STOOD, UNMOVED
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.diagnosis.watches.pace import Pace
from course_utils.diagnostics.diagnosis.watches.steps import Steps

FEW = 0.05  # share that moves in a step where nearly all of it is rounded away
STILL = 1e-3  # a step that moves a smaller share of the weights does not count
USUAL = 0.5  # share that moves in a step of float32 weights, and far less in narrow formats
ENOUGH = 8  # steps
OFTEN, BACK = 3, 0.6  # times that weights are written; share of the way back (Lookahead: half)
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
    judge_gradients(subject, steps, sheet)
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


def _movement(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    """How many of the weights that have a gradient move; it may be that of few rows of a table."""
    with_rate = [one for one in steps.numbers if one.lr != 0 and one.grad_norm > 0]
    if all(one.lr == 0 or one.grad_norm == 0 for one in steps.numbers):
        sheet.became(STOOD, f"none of {len(steps.numbers)} steps had a rate and a gradient")
    asked = [one for one in with_rate if one.share_asked]
    if not asked:
        return
    share = median(min(1.0, one.share_moved / one.share_asked) for one in asked)
    if share <= STILL:
        said = f"a step moves {share:.2%} of the weights, in the median of {len(asked)}"
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
