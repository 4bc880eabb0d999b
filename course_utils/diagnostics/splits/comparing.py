"""`compare_splits`: one gradient for each way to cut the same rows. Trains nothing."""

from collections.abc import Callable, Sequence

import torch
from torch import nn

from course_utils.diagnostics.libraries.trl import makes_its_rows
from course_utils.diagnostics.splits.judging import (
    RANKS,
    SAME,
    WEIGHTS,
    ComparedSplit,
    cosine,
    distance,
    judged,
)
from course_utils.diagnostics.splits.report import SplitReport
from course_utils.diagnostics.splits.stepping import (
    FunctionStep,
    Split,
    Step,
    TrainerStep,
    cut,
    left_as_it_was,
)
from course_utils.errors import BadRequest, Unsupported

SEEN, LOOKED_THROUGH = 8, 64


def compare_splits(
    of: object,
    rows: Sequence | None = None,
    *,
    model: nn.Module | None = None,
    sizes: tuple[int, ...] = (),
    num_ranks: tuple[int, ...] = (1, 2),
) -> SplitReport:
    """Compare the gradient of the same rows, cut into micro-batches in several ways.

    Args:
        of: a transformers Trainer (or one of trl's that does not generate), or a function
            `step(micro_batches)` that leaves in the model's weights the gradient of one optimizer
            step and may return its loss; a micro-batch is a list of `rows`.
        rows: what is cut; their number is a multiple of 2. None takes 8 of the trainer's first 64
            rows, from the shortest to the longest.
        model: whose gradient; needed with a function.
        sizes: rows of a micro-batch; () is a quarter of the rows, and 1.
        num_ranks: numbers of data-parallel processes. A trainer's are played in this one process:
            each rank's step with the count of all (its own where the Trainer's arguments say
            average_tokens_across_devices=False), then the mean, as DistributedDataParallel does.

    Returns:
        A report; `.is_healthy`, `.compared`, `.table()`, `.to_dict()`.

    Raises:
        BadRequest: too few rows, a function without its model, or a model that is frozen.
        Unsupported: the trainer makes its rows itself (GRPO, RLOO), or runs on several processes.

    Numerics:
        Gradients are compared in float64. Float32 leaves about 1e-6 between orders of summation;
        16-bit weights leave about 1e-2, and the tolerance follows the model's format. A few copies
        of the gradient are held on the CPU, 8 bytes a weight each, and one for each micro-batch
        where they differ. All rows in one micro-batch are the measure, so they have to fit at once:
        give fewer, or shorter ones.

    Source:
        trl#2175 and transformers#34191, where 1 x 32 trained worse than 32 x 1.
    """
    step = _step_of(of, model)
    if not any(weight.requires_grad for weight in step.model.parameters()):
        raise BadRequest(
            "no weight of the model is trainable",
            why="splits are compared by their gradients, and a frozen model has none",
            fix="unfreeze it, or load the adapter with is_trainable=True",
        )
    rows = list(rows) if rows is not None else _of_every_length(step)
    ranks = [r for r in num_ranks if isinstance(step, TrainerStep) or r == 1]
    if len(rows) < 2 or any(len(rows) % r for r in ranks):
        raise BadRequest(
            f"{len(rows)} rows on {max(ranks)} ranks",
            why="every rank gets the same number of rows",
            fix="give an even number of rows, 8 or more",
        )
    with left_as_it_was(step):
        return _compare(step, rows, sizes or (max(1, len(rows) // 4), 1), ranks)


def _compare(step, rows: list, sizes: tuple[int, ...], ranks: list[int]) -> SplitReport:
    whole = step(cut(rows, len(rows)))
    noise = distance(step(cut(rows, len(rows))).gradient_N, whole.gradient_N)
    dtypes = [w.dtype for w in step.model.parameters() if w.requires_grad]
    tolerance = max(1e-4, *(4 * torch.finfo(dtype).eps for dtype in dtypes))
    found, done, alone = [], {(len(rows), 1)}, _Alone(step)
    for number in ranks:
        for size in (len(rows) // number, *sizes):
            if size <= len(rows) // number and (size, number) not in done:
                done.add((size, number))
                split = cut(rows, size, number)
                found.append(_one(step(split), split, whole, tolerance, alone))
    alone = isinstance(step, TrainerStep) and not step.trainer.args.average_tokens_across_devices
    is_zero = not bool(whole.gradient_N.any())
    targets = _targets(step, rows)
    return SplitReport(tuple(found), len(rows), targets, noise, tolerance, alone, is_zero)


class _Alone:
    """The gradients of rows as a separate step, in one micro-batch; each computed once."""

    def __init__(self, step) -> None:
        self._step, self._known = step, {}

    def means(self, split: Split) -> dict[str, torch.Tensor]:
        """The mean over the ranks of a split, and over its micro-batches, shape (weights,) each."""
        ranks = [[row for micro in rank for row in micro] for rank in split]
        micro_batches = [micro for rank in split for micro in rank]
        by = {RANKS: ranks} if len(split) > 1 else {}
        by[WEIGHTS] = micro_batches  # one per rank is reported by RANKS
        return {
            kind: torch.stack([*map(self._gradient_of, many)]).mean(0) for kind, many in by.items()
        }

    def _gradient_of(self, micro: list) -> torch.Tensor:
        key = tuple(map(id, micro))
        if key not in self._known:
            self._known[key] = self._step([[micro]]).gradient_N
        return self._known[key]


def _one(mine: Step, split: Split, whole: Step, tolerance: float, alone: _Alone) -> ComparedSplit:
    is_same = distance(mine.gradient_N, whole.gradient_N) <= tolerance
    means = {} if is_same else alone.means(split)
    kind, factor = judged(whole.gradient_N, mine.gradient_N, means, tolerance)
    return ComparedSplit(
        size=len(split[0][0]),
        num_micro=len(split[0]),
        num_ranks=len(split),
        cosine=cosine(mine.gradient_N, whole.gradient_N),
        ratio=float(mine.gradient_N.norm() / whole.gradient_N.norm()),
        distance=distance(mine.gradient_N, whole.gradient_N),
        logged=mine.logged,
        kind=kind,
        factor=1.0 if kind == SAME else factor,
    )


def _step_of(of: object, model: nn.Module | None) -> TrainerStep | FunctionStep:
    if hasattr(of, "training_step"):
        if makes_its_rows(of):
            raise Unsupported(
                f"{type(of).__name__} makes its rows itself, anew for every split",
                why="different replies have different gradients",
                fix="generate once, and give a function of the prepared rows, with model=",
            )
        if of.args.world_size > 1:
            raise Unsupported(
                f"{of.args.world_size} processes are running",
                why="the ranks are played in one process",
                fix="run it once without a launcher",
            )
        return TrainerStep(of)
    if not isinstance(of, Callable) or model is None:
        raise BadRequest(
            f"a {type(of).__name__} and model={type(model).__name__}",
            why="a function leaves its gradient in a model, and nothing says in which",
            fix="give a Trainer, or a function step(micro_batches) and model=",
        )
    return FunctionStep(of, model)


def _of_every_length(step) -> list:
    if not isinstance(step, TrainerStep):
        raise BadRequest(
            "a function and no rows",
            why="only a Trainer brings its own",
            fix="give rows=, a list that can be cut",
        )
    data = step.trainer.get_train_dataloader().dataset
    rows = [row for _, row in zip(range(LOOKED_THROUGH), data, strict=False)]
    if (targets := _targets(step, rows)) and len(rows) > SEEN:
        order = sorted(range(len(rows)), key=targets.__getitem__)
        picks = [round(n * (len(rows) - 1) / (SEEN - 1)) for n in range(SEEN)]
        return [rows[order[at]] for at in picks]
    return rows[: min(SEEN, len(rows) // 2 * 2)]


def _targets(step, rows: list) -> tuple[int, ...]:
    """The number of labels of each row in the loss; () if a batch has no labels."""
    if not isinstance(step, TrainerStep):
        return ()
    labels = [step.collated([row]).get("labels") for row in rows]
    if not all(isinstance(one, torch.Tensor) for one in labels):
        return ()
    return tuple(int((one[..., 1:] != -100).sum()) for one in labels)
