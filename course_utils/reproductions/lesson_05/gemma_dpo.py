"""The Gemma 3 run of lesson 05: a real DPOTrainer with LoRA on the sick stand-in, a few steps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from course_utils import zoo
from course_utils.shown.report import Table
from course_utils.zoo import training
from course_utils.zoo.load import name_of_dtype

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

TINY = "tiny-gemma3"
STRETCH = 2**15  # a power of two, so that not one bit of the function changes


def load_gemma(
    model: str = "tiny", *, stretch: float | None = None, device: str = "auto"
) -> "PreTrainedModel":
    """Load a Gemma 3 in float32; the tiny one gets the property of the large ones.

    Args:
        model: "tiny", a path or a hub id.
        stretch: 1 for the model as it is. Default: STRETCH for the tiny one, 1 for others.

    >>> load_gemma(device="cpu").model.embed_tokens.embed_scale > 300_000
    tensor(True)
    """
    from course_utils.gemma3 import rescale_stream  # takes seconds, as all of transformers does

    if stretch is None:
        stretch = STRETCH if model == "tiny" else 1
    loaded = zoo.load_policy(TINY if model == "tiny" else model, device=device)
    return rescale_stream(loaded, stretch).eval()


def dpo_trainer(
    model: str = "tiny",
    *,
    dtype: "str | torch.dtype" = "float32",
    lora_alpha: int = 32,
    stretch: float | None = None,
    prepare: Callable[["PreTrainedModel"], object] | None = None,
    device: str = "auto",
    seed: int = 0,
    callbacks: list | None = None,
    **changes: object,
):
    """Build a real DPOTrainer with LoRA in the reported configuration, with `changes`.

    Args:
        model, stretch: as for `load_gemma`.
        dtype: of the base model's weights; the reporter's were float32.
        lora_alpha: LoRA's; r is 16.
        prepare: called with the loaded model, before the adapters are added.
        callbacks: TrainerCallbacks to add.
        changes: fields of DPOConfig that differ from the reported ones (`fp16=True`, 1 x 4).

    Raises:
        TypeError: DPOConfig has no such field.
    """
    import torch  # these take seconds
    from peft import LoraConfig
    from transformers import set_seed
    from trl import DPOConfig, DPOTrainer

    from course_utils.zoo.mixed_precision import Float16OnCpu

    class Trainer(Float16OnCpu, DPOTrainer):
        """DPOTrainer, with `fp16=True` obeyed on a CPU too."""

    set_seed(seed)
    reported = dict(
        fp16=True,
        bf16=False,
        learning_rate=1e-3,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=4,
        logging_steps=1,
        max_steps=3,
        gradient_checkpointing=False,
        use_cpu=zoo.pick_device(device).type == "cpu",
        seed=seed,
    )
    config = DPOConfig(**(training.quiet_config() | reported | changes))
    policy = load_gemma(model, stretch=stretch, device=device)
    policy = policy.to(getattr(torch, name_of_dtype(dtype)))
    if prepare is not None:
        prepare(policy)
    pairs_a_step = config.per_device_train_batch_size * config.gradient_accumulation_steps
    return Trainer(
        model=policy,
        args=config,
        train_dataset=zoo.arithmetic.preferences(config.max_steps * pairs_a_step, seed),
        processing_class=zoo.load_tokenizer(TINY if model == "tiny" else model),
        callbacks=callbacks,
        peft_config=LoraConfig(r=16, lora_alpha=lora_alpha, task_type="CAUSAL_LM"),
    )


@dataclass(frozen=True)
class Outcome:
    """The log of one short run, and how it changed the adapters."""

    losses: list[float]
    grad_norms: list[float]
    rewards: list[float]  # rewards/chosen
    margins: list[float]
    num_moved: int  # trained tensors that changed
    num_dead: int  # trained tensors that hold inf or nan
    num_trained: int
    scale: float | None  # the gradient scaler's at the end; None without one

    @property
    def num_dead_steps(self) -> int:
        """Logged steps with a loss, gradient norm or reward that is not finite."""
        steps = zip(self.losses, self.grad_norms, self.rewards, strict=True)
        return sum(any(x - x != 0 for x in step) for step in steps)  # inf - inf is nan

    @property
    def in_a_word(self) -> str:
        if self.num_dead_steps or self.num_dead:
            return "dead"
        return "trains" if self.num_moved else "still"


def train_and_judge(trainer) -> Outcome:
    """Train, and collect the log and the adapters that moved."""
    changes = training.train_and_compare(trainer)
    log = [entry for entry in trainer.state.log_history if "loss" in entry]
    scaler = trainer.accelerator.scaler
    return Outcome(
        losses=[entry["loss"] for entry in log],
        grad_norms=[entry["grad_norm"] for entry in log],
        rewards=[entry["rewards/chosen"] for entry in log],
        margins=[entry["rewards/margins"] for entry in log],
        num_moved=sum(c.share_moved > 0 and not c.num_dead for c in changes),
        num_dead=sum(c.num_dead > 0 for c in changes),
        num_trained=len(changes),
        scale=None if scaler is None else scaler.get_scale(),
    )


@dataclass(frozen=True)
class Outcomes:
    """Several short runs, by name; reads as a table."""

    runs: dict[str, Outcome]

    def __getitem__(self, run: str) -> Outcome:
        return self.runs[run]

    def table(self) -> Table:
        rows = [
            (
                name,
                f"{run.losses[0]:.3g}",
                f"{run.grad_norms[0]:.2g}",
                f"{run.rewards[-1]:.1g}",
                f"{run.num_moved} of {run.num_trained}",
                "-" if run.scale is None else f"{run.scale:g}",
                run.in_a_word,
            )
            for name, run in self.runs.items()
        ]
        columns = (
            "run",
            "first loss",
            "grad_norm",
            "last reward",
            "adapters moved",
            "scale",
            "run is",
        )
        return Table(columns=columns, rows=rows)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def outcomes_of(settings: dict[str, dict], **run: object) -> Outcomes:
    """Train with each named set of changes, three steps unless they say otherwise."""
    return Outcomes(
        {name: train_and_judge(dpo_trainer(**run | changes)) for name, changes in settings.items()}
    )
