"""Judges whom the steps reach: groups without a rate, weights that hardly move, clips in vain."""

from course_utils.diagnostics.diagnosis.measures.first_rows import losses_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.diagnosis.watches.steps import Steps, group_of
from course_utils.explain.paste.numbers import trend

ENOUGH, FEWEST = 5, 16  # steps
ALL_BUT = 0.8  # of the planned steps
HARDLY = 1e-3  # of a tensor's size: the sum of the largest updates of all steps
NEAR, MANY = 1e-2, 0.8  # relative difference of two norms, and the share of the steps
FALLEN = 0.95  # of the first losses


def judge_reach(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    _groups(steps, sheet)
    _clips(steps, sheet)
    if _is_whole(subject, steps):
        _movement(subject, steps, sheet)


def _groups(steps: Steps, sheet: Sheet) -> None:
    """Weights that get no rate; a table, or a single number such as a scale, may be held so."""
    taken, sizes = len(steps.numbers), {n: p.numel() for n, p in steps.model.named_parameters()}
    still = [name for name, count in steps.rateless.items() if count == taken]
    still = [name for name in still if sizes.get(name) != 1]
    if taken < ENOUGH or not still:
        return
    said = f"{len(still)} tensors had a rate of 0 in all {taken} steps, and others had not"
    more = f"such as {still[0]}"
    if {group_of(name) for name in still} == {"embeddings"}:  # a table that is to stay
        sheet.show("groups of the optimizer", f"{said}, {more}")
    else:
        sheet.find("group_rate_zero", COUNTED, said, more, place="optimizer.param_groups")


def _clips(steps: Steps, sheet: Sheet) -> None:
    """A clip that found the gradient of the step before, or none, changed no step."""
    pairs = list(zip(steps.numbers, steps.numbers[1:], strict=False))
    heard = [(a, b) for a, b in pairs if b.norm is not None and b.grad_norm > 0]
    if len(heard) < ENOUGH:
        return
    late = sum(abs(b.norm - a.grad_norm) <= NEAR * a.grad_norm for a, b in heard)
    early = sum(b.norm == 0 for _, b in heard)
    over = sum(b.grad_norm > (1 + NEAR) * b.clipped_to for _, b in heard)
    if max(late, early) < MANY * len(heard) or over < MANY * len(heard):
        return
    where = "the norm of the step before" if late > early else "no gradient"
    said = (
        f"in {max(late, early)} of {len(heard)} steps clipping to {heard[0][1].clipped_to:g} found "
        f"{where}, and the optimizer got a norm above it"
    )
    sheet.find("clipped_too_late", COUNTED, said, place="clip_grad_norm_")


def _is_whole(subject: Subject, steps: Steps) -> bool:
    """Whether these were nearly all steps of a run; the first of a warm-up are short."""
    if len(steps.numbers) < FEWEST:
        return False
    planned = getattr(getattr(subject.trainer, "state", None), "max_steps", 0)
    least = ALL_BUT * planned if planned else 4 * ENOUGH
    return len(steps.numbers) >= max(ENOUGH, least)


def _movement(subject: Subject, steps: Steps, sheet: Sheet) -> None:
    """All steps together hardly change a weight, and the loss is where it was."""
    moved = sum(one.largest_update for one in steps.numbers)
    rates = [one.lr for one in steps.numbers]
    if not max(rates) or not steps.largest_at or any(f.key == "rate_too_low" for f in sheet.found):
        return
    if 0 < moved < HARDLY and not _learns(subject):
        said = (
            f"all {len(rates)} steps together change no tensor by more than {moved:.1g} of its "
            f"size, at rates up to {max(rates):.2g}"
        )
        sheet.find("rate_too_low", MEASURED, said, place="learning_rate")


def _learns(subject: Subject) -> bool:
    """Whether the loss falls from each third of the log to the next, by more than noise."""
    levels = trend(losses_of(subject.log))
    return levels is not None and levels[2] < FALLEN * levels[0]
