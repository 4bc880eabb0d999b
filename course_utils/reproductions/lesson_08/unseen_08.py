"""Three hand-written training loops; each learns differently when its batch is split differently.

A loop is made of named parts, small functions that `fresh` can replace. Nothing here raises, and
nothing is judged.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.diagnostics.splits.stepping import gradient_of
from course_utils.reproductions import reported_script
from course_utils.reproductions.reported_script import Parts

NUM_STEPS, BATCH_SIZE = 24, 8
LABEL, TEACHER = "label", "teacher"  # the two terms of the loss, and what their targets are
CAUSES = {
    "a": "both terms are divided by the micro-batch's own counts",
    "b": "nobody divides by the number of micro-batches",
    "c": "the loss is divided by the number of micro-batches once too often",
    "d": "one term is divided by the micro-batch's own count, the other by that of the step",
    "e": "padding is counted",
    "f": "the logged number is not the loss that is trained on",
}


@dataclass(frozen=True)
class Row:
    """One row: every place has a teacher's number to match, and some have a label."""

    x: Tensor  # (places, 4)
    label: Tensor  # (places,); nan where there is none
    teacher: Tensor  # (places,)


# --- the parts: one loop, in which one part or another is at fault ----------------------------


def count(rows):
    """The targets of each term in these rows."""
    labels = sum(int((~row.label.isnan()).sum()) for row in rows)
    return {"label": labels, "teacher": sum(len(row.teacher) for row in rows)}


def count_the_batch(rows):
    """The targets of each term in these rows."""
    widest = max(len(row.teacher) for row in rows)
    labels = sum(int((~row.label.isnan()).sum()) for row in rows)
    return {"label": labels, "teacher": len(rows) * widest}


def divide(sums, own, whole, num_micro):
    """One micro-batch's loss, from its sums; counts of its own and of the whole step."""
    label = sums["label"] / max(whole["label"], 1)
    return label + 0.5 * sums["teacher"] / whole["teacher"]


def divide_by_its_own(sums, own, whole, num_micro):
    """One micro-batch's loss, from its sums; counts of its own and of the whole step."""
    label = sums["label"] / max(own["label"], 1)
    return (label + 0.5 * sums["teacher"] / own["teacher"]) / num_micro


def divide_in_two_ways(sums, own, whole, num_micro):
    """One micro-batch's loss, from its sums; counts of its own and of the whole step."""
    label = sums["label"] / max(whole["label"], 1)
    return label + 0.5 * sums["teacher"] / own["teacher"] / num_micro


def log(losses):
    """The logged loss of a step, from those of its micro-batches."""
    return sum(losses)


HEALTHY: Parts = {"count": count, "divide": divide, "log": log}


# --- the run ----------------------------------------------------------------------------------


class Ticket(reported_script.Ticket):
    """A hand-written loop."""

    causes = CAUSES

    def run(self, parts: Parts, seed: int) -> "Run":
        return Run(parts, seed)


def draw_rows(draw: torch.Generator) -> list[Row]:
    """The first step is labelled everywhere, later rows in part, and one step nowhere."""
    shares = [1.0, *[0.5] * (NUM_STEPS - 1)]
    shares[NUM_STEPS // 2] = 0.0
    return [draw_row(draw, share) for share in shares for _ in range(BATCH_SIZE)]


def draw_row(draw: torch.Generator, labelled: float) -> Row:
    """Every third row is long and follows another rule; `labelled` of its places have a label."""
    is_long = int(torch.randint(3, (), generator=draw)) == 0
    places = int(torch.randint(20, 40, (), generator=draw)) if is_long else 2
    x = torch.randn(places, 4, generator=draw)
    rule = torch.tensor([1.0, -1.0, 0.5, 0.0]) * (-1 if is_long else 1)
    label = x @ rule + 0.1 * torch.randn(places, generator=draw)
    kept = torch.rand(places, generator=draw) < labelled
    label = label.masked_fill(~kept, float("nan"))
    return Row(x, label, x[:, 0] * (2 if is_long else -1))


class Run:
    """One run: rows, a small model, and what its loop does with them."""

    def __init__(self, parts: Parts, seed: int) -> None:
        self._parts, draw = parts, torch.Generator().manual_seed(seed)
        self.rows = draw_rows(draw)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))

    def sums(self, rows: list[Row]) -> dict[str, Tensor]:
        """The losses of each term, added up over its targets."""
        total = {LABEL: torch.zeros(()), TEACHER: torch.zeros(())}
        for row in rows:
            said = self.model(row.x)
            is_label = ~row.label.isnan()
            total[LABEL] = total[LABEL] + (said[is_label, 0] - row.label[is_label]).square().sum()
            total[TEACHER] = total[TEACHER] + (said[:, 1] - row.teacher).square().sum()
        return total

    def step(self, micro_batches: list[list[Row]]) -> float:
        """The backward passes of one optimizer step; gives the logged loss."""
        own = [self._parts["count"](rows) for rows in micro_batches]
        whole = {term: sum(counts[term] for counts in own) for term in (LABEL, TEACHER)}
        losses = []
        for rows, counts in zip(micro_batches, own, strict=True):
            sums, num = self.sums(rows), len(micro_batches)
            loss = self._parts["divide"](sums, dict(counts), dict(whole), num)
            loss.backward()
            losses.append(loss.item())
        return float(self._parts["log"](losses))

    def gradient(self, micro_batches: list[list[Row]]) -> Tensor:
        """What one step hands to the optimizer, shape (weights,); the run stays as it was."""
        self.model.zero_grad()
        self.step(micro_batches)
        gradient_N = gradient_of(self.model)
        self.model.zero_grad()
        return gradient_N

    def train(self, size: int = BATCH_SIZE) -> list[float]:
        """Every row once, `size` rows in a micro-batch, 8 rows a step; gives the logged losses."""
        optimizer, logged = torch.optim.SGD(self.model.parameters(), lr=0.05), []
        for start in range(0, len(self.rows), BATCH_SIZE):
            rows = self.rows[start : start + BATCH_SIZE]
            logged.append(self.step([rows[at : at + size] for at in range(0, len(rows), size)]))
            optimizer.step()
            optimizer.zero_grad()
        return logged

    def weights(self) -> Tensor:
        return torch.cat([weight.detach().double().flatten() for weight in self.model.parameters()])


def boxes_by_the_image() -> Ticket:
    """Every micro-batch divides by its own boxes."""
    report = (
        "A detector: some places of an image hold a box to find (label), and all places have a\n"
        "score to match (teacher). Trained with 8 images at once or with one at a time, it\n"
        "becomes two different models."
    )
    return Ticket(report, HEALTHY | {"divide": divide_by_its_own})


def two_denominators() -> Ticket:
    """The teacher's term is a mean of means, the labels' is not."""
    report = (
        "Distillation: some tokens have a label, all have a teacher's score. The best mixing\n"
        "weight of the two terms changes with the batch size, and nobody knows why."
    )
    return Ticket(report, HEALTHY | {"divide": divide_in_two_ways})


def the_width_counted() -> Ticket:
    """The teacher's targets are counted by the shape of the padded batch."""
    report = (
        "Distillation: some tokens have a label, all have a teacher's score. The teacher's term\n"
        "gets weaker as the micro-batch grows, though every loss is a sum over a count."
    )
    return Ticket(report, HEALTHY | {"count": count_the_batch})
