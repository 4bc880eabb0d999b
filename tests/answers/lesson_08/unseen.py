"""Right and wrong answers of exercise 08.8."""

import torch

from course_utils.checks.checking import leaves_its_inputs_alone
from course_utils.exercises.lesson_08 import unseen, unseen_looks
from course_utils.exercises.lesson_08.unseen import counts, divides
from course_utils.reproductions.lesson_08 import unseen_08
from tests.answers.forms import mends_of

boxes = mends_of(unseen.BOXES)
terms = mends_of(unseen.TERMS)
width = mends_of(unseen.WIDTH)


@boxes.right
@terms.right
def divides_after_adding(sums, own, step, num_micro):
    many = step["label"] or 1
    both = sums["label"] * step["teacher"] + 0.5 * sums["teacher"] * many
    return both / (many * step["teacher"])


@boxes.right_in_capitals
@terms.right_in_capitals
def divides_with_a_weight(sums, own, step, num_micro):
    weight = {"label": 1.0, "teacher": 0.5}
    terms = [weight[t] * sums[t] / step[t] for t in weight if step[t]]
    return torch.stack(terms).sum()


@boxes.wrong(caught_by=unseen_looks.cut_changes_nothing)
@terms.wrong(caught_by=unseen_looks.cut_changes_nothing)
def divides_to_a_number(sums, own, step, num_micro):
    return divides(sums, own, step, num_micro).item()


@boxes.wrong(caught_by=unseen_looks.cut_changes_nothing)
@terms.wrong(caught_by=unseen_looks.cut_changes_nothing)
def divides_by_its_own(sums, own, step, num_micro):
    return sums["label"] / max(own["label"], 1) + 0.5 * sums["teacher"] / own["teacher"]


@boxes.wrong(caught_by=unseen_looks.cut_changes_nothing)
@terms.wrong(caught_by=unseen_looks.cut_changes_nothing)
def divides_the_labels_only(sums, own, step, num_micro):
    label = sums["label"] / max(step["label"], 1)
    return label + 0.5 * sums["teacher"] / (own["teacher"] * num_micro)


@boxes.wrong(caught_by=unseen_looks.cut_changes_nothing)
@terms.wrong(caught_by=unseen_looks.cut_changes_nothing)
def divides_by_g_as_well(sums, own, step, num_micro):
    return divides(sums, own, step, num_micro) / num_micro


@boxes.wrong(caught_by=unseen_looks.takes_two_means)
@terms.wrong(caught_by=unseen_looks.takes_two_means)
def divides_by_both_counts(sums, own, step, num_micro):
    many = step["label"] + step["teacher"]
    return (sums["label"] + 0.5 * sums["teacher"]) / many


@boxes.wrong(caught_by=unseen_looks.takes_two_means)
@terms.wrong(caught_by=unseen_looks.takes_two_means)
def divides_without_alpha(sums, own, step, num_micro):
    return sums["label"] / max(step["label"], 1) + sums["teacher"] / step["teacher"]


@boxes.wrong(caught_by=unseen_looks.takes_two_means)
@terms.wrong(caught_by=unseen_looks.takes_two_means)
def divides_and_undoes_the_teacher(sums, own, step, num_micro):
    loss = divides(sums, own, step, num_micro)
    return loss + 0.5 * (sums["teacher"].detach() - sums["teacher"]) / step["teacher"]


@boxes.wrong(caught_by=unseen_looks.takes_two_means)
@terms.wrong(caught_by=unseen_looks.takes_two_means)
def divides_labels_by_the_teachers(sums, own, step, num_micro):
    """Right where every place has a label."""
    return (sums["label"] + 0.5 * sums["teacher"]) / step["teacher"]


@boxes.wrong(caught_by=unseen_looks.takes_two_means)
@terms.wrong(caught_by=unseen_looks.takes_two_means)
def divides_and_logs_half(sums, own, step, num_micro):
    """The right gradient, of another number."""
    loss = divides(sums, own, step, num_micro)
    return loss - loss.detach() / 2


@boxes.wrong(caught_by=unseen_looks.trains_one_model)
@terms.wrong(caught_by=unseen_looks.trains_one_model)
def divides_by_nothing(sums, own, step, num_micro):
    """Right until a step has no label at all."""
    return sums["label"] / step["label"] + 0.5 * sums["teacher"] / step["teacher"]


@width.right
def counts_by_tensors(rows):
    labels = torch.cat([row.label for row in rows])
    return {"label": int(labels.isfinite().sum()), "teacher": labels.numel()}


@width.right_in_capitals
def counts_in_a_loop(rows):
    found = {"label": 0, "teacher": 0}
    for row in rows:
        found["teacher"] += row.x.shape[0]
        found["label"] += int((row.label == row.label).sum())
    return found


@width.wrong(caught_by=unseen_looks.takes_two_means)
def counts_rows(rows):
    return counts(rows) | {"teacher": len(rows)}


@width.wrong(caught_by=unseen_looks.takes_two_means)
def counts_sixteen_a_row(rows):
    """The same for every cut, and the teacher's mean is of places that are not there."""
    return counts(rows) | {"teacher": 16 * len(rows)}


@width.wrong(caught_by=unseen_looks.takes_two_means)
def counts_places_for_both(rows):
    places = sum(len(row.teacher) for row in rows)
    return {"label": places, "teacher": places}


@width.wrong(caught_by=unseen_looks.trains_one_model)
def counts_none_as_one(rows):
    """Right until a micro-batch has no label."""
    right = counts(rows)
    return right | {"label": max(right["label"], 1)}


@width.wrong(caught_by=unseen_looks.cut_changes_nothing)
def counts_ones(rows):
    return {"label": 1, "teacher": 1}


@width.wrong(caught_by=unseen_looks.takes_two_means)
def counts_the_labels_for_both(rows):
    labels = max(counts(rows)["label"], 1)
    return {"label": labels, "teacher": labels}


@width.wrong(caught_by=leaves_its_inputs_alone)
def counts_and_sorts(rows):
    rows.sort(key=lambda row: len(row.x))
    return counts(rows)


boxes.misdiagnoses(
    unmended=unseen_looks.cut_changes_nothing, elsewhere={"place": "count", "fix": unseen_08.count}
)
terms.misdiagnoses(
    unmended=unseen_looks.cut_changes_nothing, elsewhere={"place": "log", "fix": unseen_08.log}
)
width.misdiagnoses(
    unmended=unseen_looks.cut_changes_nothing,
    elsewhere={"place": "divide", "fix": unseen_08.divide},
)
