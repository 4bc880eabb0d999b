"""Exercise 08.5: a Trainer with a loss of its own, whose gradient is the same for every split."""

from functools import cached_property

import torch
from torch import Tensor
from transformers import Trainer

from course_utils.diagnostics.splits.judging import cosine, distance
from course_utils.diagnostics.splits.ranks import believing_in
from course_utils.diagnostics.splits.stepping import Split, TrainerStep, cut, left_as_it_was
from course_utils.exercises.compare import number_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_08 import mend_answers as answers
from course_utils.reproductions import batch_loss, batch_trainers

CLOSE = 5e-6  # float32 leaves 1e-6 between two orders of summation


class _Tried:
    """The reader's Trainer on six rows, with its gradient for any split."""

    def __init__(self, cls: type[Trainer]) -> None:
        self.rows = batch_loss.mixed_rows(3, long=2, short=4)
        self.trainer = batch_loss.trainer(cls, self.rows)
        self._step = TrainerStep(self.trainer)

    @cached_property
    def due(self) -> Tensor:
        """The gradient of the mean over all targets."""
        with left_as_it_was(self._step):
            self._token_mean(self.rows).backward()
            grads = [w.grad for w in self.trainer.model.parameters()]
        return torch.cat([grad.double().flatten() for grad in grads])

    def _token_mean(self, rows: list) -> Tensor:
        batch = batch_loss.collate(rows)
        labels = batch.pop("labels")
        return batch_loss.token_losses(self.trainer.model(**batch).logits, labels).mean()

    def differs(self, split: Split, given: str) -> str | None:
        with left_as_it_was(self._step):
            got = self._step(split).gradient_N
        if not got.any():
            return f"with {given} there is no gradient at all"
        if distance(got, self.due) <= CLOSE:
            return None
        ratio = float(got.norm() / self.due.norm())
        return (
            f"with {given} the gradient has cosine {cosine(got, self.due):.3f} with that of the "
            f"token mean, and {ratio:.3g} times its norm"
        )

    def evaluated(self, rows: list, num_ranks: int) -> tuple[float, float]:
        """The loss of one evaluation batch, and what it should be."""
        batch = batch_loss.collate(rows)
        with believing_in(num_ranks), left_as_it_was(self._step):
            loss, _, _ = self.trainer.prediction_step(self.trainer.model, dict(batch), True)
            return float(loss), float(self._token_mean(rows).detach())


def is_a_trainer(mended: type) -> str | None:
    if not issubclass(mended, Trainer):
        return f"{mended.__name__} is no Trainer; class {mended.__name__}(Trainer) is asked"
    return None


def is_the_token_mean(tried: _Tried) -> str | None:
    return tried.differs(cut(tried.rows, 6), "all rows in one micro-batch")


def same_for_every_split(tried: _Tried) -> str | None:
    for size in (3, 1):
        split = cut(tried.rows, size)
        if seen := tried.differs(split, f"{len(split[0])} micro-batches of {size}"):
            return seen
    uneven = [[tried.rows[:5], tried.rows[5:]]]
    return tried.differs(uneven, "micro-batches of 5 and 1 rows")


def same_for_every_number_of_ranks(tried: _Tried) -> str | None:
    for ranks, size in ((2, 1), (2, 3), (3, 1)):
        given = f"{ranks} ranks and micro-batches of {size}"
        if seen := tried.differs(cut(tried.rows, size, ranks), given):
            return seen
    return None


def evaluates(tried: _Tried) -> str | None:
    for rows, ranks in ((tried.rows[:3], 1), (tried.rows[3:], 2)):
        got, want = tried.evaluated(rows, ranks)
        given = f"an evaluation batch on {ranks} rank{'s' if ranks > 1 else ''}"
        if seen := number_differs(got, want, rtol=1e-4, given=given):
            return seen
    return None


MEND = Exercise(
    id="08.5",
    name="MEND",
    title="A Trainer that does not care how the batch is cut",
    minutes=10,
    difficulty="a class",
    points=5,
    reads="Mended",
    expects=(type,),
    hints=(
        "What does the Trainer hand to compute_loss besides model and inputs, and what is it?",
        "Divide the sum of the token losses by num_items_in_batch. On several ranks that is the "
        "count of all ranks, and the gradients are averaged afterwards: what undoes the mean?",
        "In training: sum / num_items_in_batch * self.accelerator.num_processes. In evaluation "
        "num_items_in_batch is None, the model is not in training mode, and a mean is right.",
    ),
    form=is_a_trainer,
    criteria=(
        Criterion(
            "All rows at once give the mean of token_losses over all targets.",
            is_the_token_mean,
            why="a mend keeps the loss it mends",
            next="compare sum, count and shift with batch_loss.token_losses",
        ),
        Criterion(
            "Every cut into micro-batches gives the same gradient.",
            same_for_every_split,
            why="batch size is a question of memory, and must not be one of learning",
            next="print(compare_splits(batch_loss.trainer(Mended))) names what is left",
        ),
        Criterion(
            "So does every number of ranks.",
            same_for_every_number_of_ranks,
            why="gradients are averaged over the ranks, and the count is that of all",
            next="ask self.accelerator for the number of processes, in the step itself",
        ),
        Criterion(
            "An evaluation batch has its own mean.",
            evaluates,
            why="there is no optimizer step in evaluation, so nobody counts for it",
            next="what is num_items_in_batch there, and is anything averaged over ranks?",
        ),
    ),
    right=(
        answers.Mended,
        answers.ScaledBack,
        answers.FromTheEnvironment,
        answers.WorldSize,
    ),
    wrong=(
        Wrong(answers.NoTrainer, caught_by=is_a_trainer),
        Wrong(answers.TheStockLoss, caught_by=is_the_token_mean),
        Wrong(answers.UnshiftedCount, caught_by=is_the_token_mean),
        Wrong(answers.NotDivided, caught_by=is_the_token_mean),
        Wrong(answers.PaddingCounted, caught_by=is_the_token_mean),
        Wrong(answers.Detached, caught_by=is_the_token_mean),
        Wrong(batch_trainers.Mean, caught_by=same_for_every_split),
        Wrong(batch_trainers.MeanToldSo, caught_by=same_for_every_split),
        Wrong(answers.MeanOverG, caught_by=same_for_every_split),
        Wrong(answers.DividedAgain, caught_by=same_for_every_split),
        Wrong(batch_trainers.RanksForgotten, caught_by=same_for_every_number_of_ranks),
        Wrong(answers.TwoRanksAlways, caught_by=is_the_token_mean),
        Wrong(answers.RanksWhenBuilt, caught_by=same_for_every_number_of_ranks),
        Wrong(answers.SumInEvaluation, caught_by=evaluates),
        Wrong(answers.RanksInEvaluation, caught_by=evaluates),
    ),
    run=_Tried,
    time_limit_s=120.0,
)
