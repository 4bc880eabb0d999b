"""Runs a Trainer and reports how its weights changed. Builds no trainer, changes no setting."""

import gc
import tempfile
from dataclasses import dataclass
from functools import cache

from course_utils.shown.report import Table


def quiet_config(*, output_dir: str | None = None) -> dict[str, object]:
    """Settings that keep any Trainer from writing, reporting and printing; nothing numerical.

    Args:
        output_dir: a folder that exists; None means one that this process removes at its end.

    >>> quiet_config()["save_strategy"]
    'no'
    """
    _exempt_imports_from_collection()
    return {
        "output_dir": output_dir or _scratch_folder().name,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
    }


@cache
def _scratch_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="course-")  # gone when the process ends


@cache
def _exempt_imports_from_collection() -> None:
    # Every train() collects garbage, and walks through all that the imports made: 0.2 s of 0.6.
    gc.collect()
    gc.freeze()


def log_last_step():
    """A callback that makes a Trainer log its last step, whatever `logging_steps` says."""
    from transformers import TrainerCallback  # takes seconds, and only lessons that train need it

    class LogLastStep(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            control.should_log |= state.global_step == state.max_steps

    return LogLastStep()


# Where torch's AdamW, RMSprop and Adagrad keep what they divide by.
SQUARES = ("exp_avg_sq", "square_avg", "sum")


@dataclass(frozen=True)
class WeightChange:
    """How a run changed one trainable tensor."""

    name: str
    dtype: str
    num_weights: int
    num_dead: int  # weights that are inf or nan
    share_moved: float  # of all weights, those with another value than before
    largest_move: float  # the largest change of a finite weight, in learning rates
    largest_share: float  # the same in root mean squares of the tensor before
    share_forgotten: float  # of all weights, those whose gradient's square was once stored as 0
    keeps_squares: bool  # whether the optimizer stores squares of this tensor's gradients


class WeightChanges(list[WeightChange]):
    """Changes that a notebook shows as a table, the dead tensors first."""

    def table(self) -> Table:
        rows = [
            (c.name, c.dtype, str(c.num_dead), f"{c.share_moved:.0%}", f"{c.largest_move:.3g}")
            for c in sorted(self, key=lambda change: not change.num_dead)
        ]
        columns = ("tensor", "dtype", "dead", "moved", "largest move / lr")
        return Table(columns=columns, rows=rows)

    def __repr__(self) -> str:
        return self.table().text()


def train_and_compare(trainer) -> WeightChanges:
    """Train, and compare every trainable weight with its value before.

    Args:
        trainer: any transformers Trainer, not yet trained.

    Returns:
        One WeightChange for each trainable tensor, in the model's order.
    """
    trainable = {n: p for n, p in trainer.model.named_parameters() if p.requires_grad}
    before = {name: weight.detach().double().cpu().clone() for name, weight in trainable.items()}
    squares = _watch_squares(trainer, trainable)
    trainer.train()
    rate = trainer.args.learning_rate
    return WeightChanges(
        _change(name, weight, before[name], rate, squares.get(name))
        for name, weight in trainable.items()
    )


def _change(
    name: str, weight, before, learning_rate: float, forgotten: float | None
) -> WeightChange:
    now = weight.detach().double().cpu()
    alive = now.isfinite()
    move = (now - before)[alive].abs()
    largest = float(move.max()) if len(move) else 0.0
    size = float(before.square().mean().sqrt())
    return WeightChange(
        name=name,
        dtype=str(weight.dtype).removeprefix("torch."),
        num_weights=now.numel(),
        num_dead=int((~alive).sum()),
        share_moved=float((move > 0).sum()) / now.numel(),
        largest_move=largest / learning_rate if learning_rate else 0.0,
        largest_share=largest / size if size else 0.0,
        share_forgotten=forgotten or 0.0,
        keeps_squares=forgotten is not None,
    )


def _watch_squares(trainer, trainable: dict) -> dict[str, float]:
    """Largest share of each tensor's gradients stored as a square of 0, filled in at every step.

    A tensor of whose gradients the optimizer stores no squares, as with SGD, has no entry.
    """
    from transformers import TrainerCallback  # takes seconds, and only lessons that train need it

    most: dict[str, float] = {}

    class LookAtState(TrainerCallback):
        def on_optimizer_step(self, args, state, control, optimizer, **kwargs):
            for name, weight in trainable.items():
                stored = optimizer.state.get(weight, {})
                v = next((stored[key] for key in SQUARES if key in stored), None)
                if v is not None:
                    lost = float(((v == 0) & (weight.grad != 0)).sum()) / v.numel()
                    most[name] = max(most.get(name, 0.0), lost)

    trainer.add_callback(LookAtState())
    return most


def logged(trainer, field: str) -> list[float]:
    """Every value of `field` in the Trainer's own log, in order, such as its losses."""
    return [entry[field] for entry in trainer.state.log_history if field in entry]


def log_table(trainer, fields: tuple[str, ...] = ("step", "loss", "grad_norm")) -> Table:
    """The Trainer's own log, three digits, only the named fields, no timings.

    A field that an entry lacks is shown as a dash.
    """
    entries = [entry for entry in trainer.state.log_history if "loss" in entry]
    rows = [tuple(_three_digits(entry.get(field)) for field in fields) for entry in entries]
    return Table(columns=fields, rows=rows)


def _three_digits(value: object) -> str:
    return "-" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
