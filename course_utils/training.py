"""Runs a Trainer and says what became of its weights. Builds no trainer and changes no setting."""

import gc
import tempfile
from dataclasses import dataclass
from functools import cache

from course_utils.report import Table


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


@dataclass(frozen=True)
class WeightChange:
    """What a run did to one trainable tensor."""

    name: str
    dtype: str
    num_weights: int
    num_dead: int  # weights that are inf or nan
    share_moved: float  # of all weights, those with another value than before
    largest_move: float  # the largest change of a finite weight, in learning rates
    share_forgotten: float  # of all weights, those whose stored second moment was 0 after a step


def train_and_compare(trainer) -> list[WeightChange]:
    """Train, and compare every trainable weight with what it was before.

    Args:
        trainer: any transformers Trainer, not yet trained.

    Returns:
        One WeightChange for each trainable tensor, in the model's order.
    """
    trainable = {n: p for n, p in trainer.model.named_parameters() if p.requires_grad}
    before = {name: weight.detach().double().cpu() for name, weight in trainable.items()}
    forgotten = _most_forgotten(trainer, trainable)
    trainer.train()
    changes, rate = [], trainer.args.learning_rate
    for name, weight in trainable.items():
        now = weight.detach().double().cpu()
        alive = now.isfinite()
        move = (now - before[name])[alive].abs()
        changes.append(
            WeightChange(
                name=name,
                dtype=str(weight.dtype).removeprefix("torch."),
                num_weights=now.numel(),
                num_dead=int((~alive).sum()),
                share_moved=float((move > 0).sum()) / now.numel(),
                largest_move=float(move.max()) / rate if len(move) and rate else 0.0,
                share_forgotten=forgotten[name],
            )
        )
    return changes


def _most_forgotten(trainer, trainable: dict) -> dict[str, float]:
    """Largest share of zeros in each tensor's second moment, filled in after every step."""
    from transformers import TrainerCallback  # takes seconds, and only lessons that train need it

    most = dict.fromkeys(trainable, 0.0)

    class LookAtState(TrainerCallback):
        def on_step_end(self, args, state, control, optimizer, **kwargs):
            for name, weight in trainable.items():
                v = optimizer.state.get(weight, {}).get("exp_avg_sq")  # SGD has none
                if v is not None and "lora_A" not in name:  # its gradient is 0 at first, rightly
                    most[name] = max(most[name], float((v == 0).sum()) / v.numel())

    trainer.add_callback(LookAtState())
    return most


def log_table(trainer, fields: tuple[str, ...] = ("step", "loss", "grad_norm")) -> Table:
    """The Trainer's own log, three digits, only the named fields, no timings.

    A field that an entry lacks is shown as a dash.
    """
    entries = [entry for entry in trainer.state.log_history if "loss" in entry]
    rows = [tuple(_three_digits(entry.get(field)) for field in fields) for entry in entries]
    return Table(columns=fields, rows=rows)


def _three_digits(value: object) -> str:
    return "-" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
