"""Mends for the three unseen loops of lesson 08, right and wrong."""

import torch


def divides(sums, own, step, num_micro):
    label = sums["label"] / max(step["label"], 1)
    return label + 0.5 * sums["teacher"] / step["teacher"]


def divides_after_adding(sums, own, step, num_micro):
    many = step["label"] or 1
    both = sums["label"] * step["teacher"] + 0.5 * sums["teacher"] * many
    return both / (many * step["teacher"])


def divides_with_a_weight(sums, own, step, num_micro):
    weight = {"label": 1.0, "teacher": 0.5}
    terms = [weight[t] * sums[t] / step[t] for t in weight if step[t]]
    return torch.stack(terms).sum()


def divides_by_its_own(sums, own, step, num_micro):
    return sums["label"] / max(own["label"], 1) + 0.5 * sums["teacher"] / own["teacher"]


def divides_the_labels_only(sums, own, step, num_micro):
    label = sums["label"] / max(step["label"], 1)
    return label + 0.5 * sums["teacher"] / (own["teacher"] * num_micro)


def divides_by_g_as_well(sums, own, step, num_micro):
    return divides(sums, own, step, num_micro) / num_micro


def divides_by_both_counts(sums, own, step, num_micro):
    many = step["label"] + step["teacher"]
    return (sums["label"] + 0.5 * sums["teacher"]) / many


def divides_without_alpha(sums, own, step, num_micro):
    return sums["label"] / max(step["label"], 1) + sums["teacher"] / step["teacher"]


def divides_and_undoes_the_teacher(sums, own, step, num_micro):
    loss = divides(sums, own, step, num_micro)
    return loss + 0.5 * (sums["teacher"].detach() - sums["teacher"]) / step["teacher"]


def divides_labels_by_the_teachers(sums, own, step, num_micro):
    """Right where every place has a label."""
    return (sums["label"] + 0.5 * sums["teacher"]) / step["teacher"]


def divides_and_logs_half(sums, own, step, num_micro):
    """The right gradient, of another number."""
    loss = divides(sums, own, step, num_micro)
    return loss - loss.detach() / 2


def divides_by_nothing(sums, own, step, num_micro):
    """Right until a step has no label at all."""
    return sums["label"] / step["label"] + 0.5 * sums["teacher"] / step["teacher"]


def counts(rows):
    labels = sum(int((~row.label.isnan()).sum()) for row in rows)
    return {"label": labels, "teacher": sum(len(row.teacher) for row in rows)}


def counts_by_tensors(rows):
    labels = torch.cat([row.label for row in rows])
    return {"label": int(labels.isfinite().sum()), "teacher": labels.numel()}


def counts_in_a_loop(rows):
    found = {"label": 0, "teacher": 0}
    for row in rows:
        found["teacher"] += row.x.shape[0]
        found["label"] += int((row.label == row.label).sum())
    return found


def counts_rows(rows):
    return counts(rows) | {"teacher": len(rows)}


def counts_sixteen_a_row(rows):
    """The same for every cut, and the teacher's mean is of places that are not there."""
    return counts(rows) | {"teacher": 16 * len(rows)}


def counts_places_for_both(rows):
    places = sum(len(row.teacher) for row in rows)
    return {"label": places, "teacher": places}


def counts_none_as_one(rows):
    """Right until a micro-batch has no label."""
    right = counts(rows)
    return right | {"label": max(right["label"], 1)}


def counts_ones(rows):
    return {"label": 1, "teacher": 1}


def counts_the_labels_for_both(rows):
    labels = max(counts(rows)["label"], 1)
    return {"label": labels, "teacher": labels}


def counts_and_sorts(rows):
    rows.sort(key=lambda row: len(row.x))
    return counts(rows)
