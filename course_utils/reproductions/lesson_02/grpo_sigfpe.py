"""The GRPO run of lesson 02, with `StandInGemm` as a stand-in for the routine that died.

The reported death needs an H20 and an old cuBLAS. Everything else is real: the GRPOTrainer, the
configuration, the integer division, the signal, the exit code and the stack.
"""

import atexit
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils import zoo
from course_utils.diagnostics import Autopsy, warm_children
from course_utils.diagnostics.processes.traps import SELF_RAISED, divide_integers_by_zero
from course_utils.reproductions.lesson_06.frozen_inputs import reward_len
from course_utils.shown.report import Table
from course_utils.zoo import training

# Source: trl#2906, as posted, for trl 0.14.0.
AS_POSTED = dict(
    learning_rate=5e-6,
    adam_beta1=0.9,
    adam_beta2=0.99,
    weight_decay=0.1,
    warmup_ratio=0.1,
    lr_scheduler_type="cosine",
    logging_steps=1,
    bf16=True,
    per_device_train_batch_size=1,
    gradient_accumulation_steps=4,
    num_generations=16,
    max_prompt_length=256,
    max_completion_length=200,
    num_train_epochs=1,
    save_steps=100,
    max_grad_norm=0.1,
    use_vllm=False,
)
# The same for trl 1.16, without what both runs share or what only says how long a run goes on.
REPORTED = dict(
    learning_rate=5e-6,
    adam_beta2=0.99,
    weight_decay=0.1,
    warmup_steps=0.1,
    lr_scheduler_type="cosine",
    logging_steps=1,
    bf16=True,
    gradient_accumulation_steps=4,
    num_generations=16,
    max_completion_length=200,
    max_grad_norm=0.1,
)
# What GRPOConfig(output_dir=..., logging_steps=10) meant in trl 0.14.0.
SHORT = dict(
    learning_rate=1e-6,
    adam_beta2=0.999,
    weight_decay=0.0,
    warmup_steps=0,
    lr_scheduler_type="linear",
    logging_steps=10,
    bf16=False,
    gradient_accumulation_steps=1,
    num_generations=8,
    max_completion_length=256,
    max_grad_norm=1.0,
)
TRANSLATION = (
    ("warmup_ratio=0.1", "warmup_steps=0.1", "a value below 1 is now a share"),
    ("max_prompt_length=256", "(gone)", "prompts are no longer cut; ours are short"),
    ("per_device_train_batch_size=1", "16", "it counted prompts, now completions: 1 x 16"),
    ("(short run) 8 x 8 completions", "16", "fewer, to save time; the same in both runs"),
    ("num_train_epochs=1, save_steps=100", "max_steps", "a short run, nothing saved"),
    ("bf16=False by default", "bf16=False", "the default is now True"),
    ("beta, loss_type by default", "today's", "the same in both runs"),
)

# What a run imports while it runs, and a warm parent can have ready.
MODEL_PARTS = (
    "transformers.trainer",
    "transformers.models.qwen2.modeling_qwen2",
    "course_utils.shown.progress_line",
)
PRELOAD = ("trl.trainer.grpo_trainer", *MODEL_PARTS)
TIMEOUT_S = 120.0
REPLIES = 16  # in a micro-batch: one prompt with the report's 16 generations
STARTED = "training starts"
PRODUCTS = {getattr(torch.ops.aten, name) for name in ("mm", "addmm", "bmm", "baddbmm")}


class StandInGemm(TorchDispatchMode):
    """A stand-in for cuBLASLt choosing an algorithm for a bf16 matrix product, with its bug.

    The heuristic is made up: it deals the rows out over tiles of 512 columns, and a narrower
    product has no tile. The division and the signal are real; the product is torch's own.

    Numerics:
        None: only the format and the shape count, so zeros die as any other numbers do.
    """

    tile = 512

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket in PRODUCTS and args[-1].dtype == torch.bfloat16:
            choose_algorithm(rows=args[-2].shape[-2], num_tiles=args[-1].shape[-1] // self.tile)
        return func(*args, **(kwargs or {}))


def choose_algorithm(*, rows: int, num_tiles: int) -> int:
    """Rows per tile. Without tiles it dies like native code: by an integer division."""
    if num_tiles == 0:
        divide_integers_by_zero()
    return rows // num_tiles


def train_grpo(
    settings: dict[str, object],
    *,
    sound: bool = False,
    fill_gradients: float | None = None,
    model: str = "tiny",
    device: str = "auto",
    seed: int = 0,
    max_steps: int = 1,
) -> None:
    """Train a real GRPOTrainer and print what its log says. Only for child processes.

    Args:
        settings: fields of GRPOConfig.
        sound: no stand-in: the machine's own matrix products.
        fill_gradients: the number that every gradient of a micro-batch is filled with.

    Raises:
        TypeError: GRPOConfig has no such field.
        ValueError: GRPOConfig or the optimizer refuses a value.
    """
    trainer = _build(settings, model=model, device=device, seed=seed, max_steps=max_steps)
    if fill_gradients is not None:
        for weight in trainer.model.parameters():
            weight.register_hook(partial(torch.full_like, fill_value=fill_gradients))
    trainer.add_callback(training.log_last_step())
    print(STARTED)
    with nullcontext() if sound else StandInGemm():
        trainer.train()
    entry = next(entry for entry in trainer.state.log_history if "grad_norm" in entry)
    alive = all(weight.isfinite().all() for weight in trainer.model.parameters())
    print(f"grad_norm {_kind(entry['grad_norm'])}, weights {'finite' if alive else 'not finite'}")


def _kind(number: float) -> str:
    return "finite" if abs(number) < float("inf") else f"{number}"


def _build(settings: dict[str, object], *, model: str, device: str, seed: int, max_steps: int):
    from transformers import set_seed  # takes seconds, as trl does, and a child has it already
    from trl import GRPOConfig, GRPOTrainer

    set_seed(seed)
    policy = zoo.load_policy(model, device=device)
    common = dict(
        per_device_train_batch_size=REPLIES,
        max_steps=max_steps,
        seed=seed,
        activation_checkpointing=False,
        use_cpu=policy.device.type == "cpu",
    )
    # Nothing is written there, and a process that dies could not remove a folder of its own.
    quiet = training.quiet_config(output_dir=tempfile.gettempdir())
    return GRPOTrainer(
        model=policy,
        args=GRPOConfig(**(quiet | common | settings)),
        reward_funcs=reward_len,
        train_dataset=zoo.arithmetic.prompts(64, seed, level="hard"),
        processing_class=zoo.load_tokenizer(model),
    )


@dataclass(frozen=True)
class Endings:
    """How several runs ended, each in its own child."""

    autopsies: dict[str, Autopsy]

    def __getitem__(self, run: str) -> Autopsy:
        return self.autopsies[run]

    @property
    def outcomes(self) -> dict[str, str]:
        """One word for each run: lived, the signal's name, or the exception's type."""
        return {run: autopsy.outcome for run, autopsy in self.autopsies.items()}

    def table(self) -> Table:
        rows = [
            (run, found.outcome, str(found.exit_code), found.last_line or "none")
            for run, found in self.autopsies.items()
        ]
        return Table(columns=("run", "outcome", "return code", "last line"), rows=rows)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


_KEPT, _WARM = ExitStack(), []


def in_child(function: Callable, *args: object, timeout_s: float = TIMEOUT_S) -> Autopsy:
    """Call `function` in a child, forked from one process that imports TRL once and is kept.

    `end_children()` ends that process; the next call starts another.
    """
    if not _WARM:
        _WARM.append(_KEPT.enter_context(warm_children(preload=PRELOAD)))
    try:
        return _WARM[0](function, *args, timeout_s=timeout_s)
    except BaseException:  # the answer of an interrupted call would be taken for the next one's
        end_children()
        raise


@atexit.register
def end_children() -> None:
    """End the process that `in_child` keeps."""
    _WARM.clear()
    _KEPT.close()


def endings_of(runs: dict[str, dict], **run: object) -> Endings:
    """Train each named run in a child, all forked from one process that has imported TRL.

    Args:
        runs: for each name the settings of GRPOConfig, as for `train_grpo`; the keys `sound`,
            `fill_gradients` and `max_steps` are its arguments instead.
        run: arguments of `train_grpo` for all of them.
    """
    return Endings({name: ending_of(settings, **run) for name, settings in runs.items()})


def ending_of(settings: dict[str, object], **run: object) -> Autopsy:
    """Train one run in a child."""
    return in_child(_call(settings, run))


def _call(settings: dict[str, object], run: dict[str, object]) -> partial:
    own = {"sound", "fill_gradients", "max_steps"} & settings.keys()
    of_config = {name: value for name, value in settings.items() if name not in own}
    return partial(train_grpo, of_config, **run | {name: settings[name] for name in own})


def is_sigfpe(autopsy: Autopsy) -> bool:
    """Whether SIGFPE ended the child; Windows has its own status instead of signals."""
    on_windows = sys.platform == "win32" and autopsy.exit_code not in (0, 1)
    return autopsy.signal_name == "SIGFPE" or on_windows


def raised_by(autopsy: Autopsy) -> str:
    """What raised the signal: the processor, or, if it does not trap, the stand-in."""
    return f"the stand-in ({SELF_RAISED})" if SELF_RAISED in autopsy.stderr else "the processor"
