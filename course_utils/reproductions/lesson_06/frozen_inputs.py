"""The runs of lesson 06: LoRA under checkpointing, with and without what protects it today.

Every run is a real trainer in a reported configuration; each says which change it takes.
"""

from dataclasses import dataclass

from course_utils import zoo
from course_utils.reproductions import tiny_grpo
from course_utils.reproductions.lesson_03.reward_model import reward_trainer
from course_utils.shown.report import Table
from course_utils.zoo import training

MESSAGE = "does not require grad"
GUARDS = ("default checkpointing", "TRL", "Transformers")
REENTRANT = {"use_reentrant": True}
# Transformers 5.23 renamed both and warns of the old names, which the report and TRL still use.
NEW_NAMES = {
    "gradient_checkpointing": "activation_checkpointing",
    "gradient_checkpointing_kwargs": "activation_checkpointing_kwargs",
}


def forget_input_hook(base) -> None:
    """Take the hook off the embeddings and let no library put it back, as before TRL 0.16.

    Args:
        base: the Transformers model itself, not the PEFT model around it: that is the object
            whose `enable_input_require_grads` both libraries end up calling.
    """
    base.disable_input_require_grads()
    base.enable_input_require_grads = lambda: None


def _with_new_names(settings: dict[str, object]) -> dict[str, object]:
    return {NEW_NAMES.get(name, name): value for name, value in settings.items()}


def reward_len(completions: list[list[dict[str, str]]], **_columns: object) -> list[float]:
    """Reward of a reply: its length. Replies of one group seldom tie, so each step has a gradient.

    >>> reward_len([[{"role": "assistant", "content": "42"}]])
    [2.0]
    """
    return [float(len(completion[-1]["content"])) for completion in completions]


def grpo_trainer(
    *,
    guards: tuple[str, ...] = (),
    mark_inputs: str = "",
    lora: bool = True,
    dtype: str = "bfloat16",
    model: str = "tiny",
    device: str = "auto",
    seed: int = 0,
    **changes: object,
):
    """Build the GRPOTrainer of trl#3150, two steps, with the named guards of today in place.

    Args:
        guards: out of GUARDS. "default checkpointing" leaves `use_reentrant` unset; the others let
            that library call `enable_input_require_grads`.
        mark_inputs: "before" or "after": the user calls it, before or after get_peft_model.
        lora: False trains the whole model instead.
        dtype: of the base model's weights.
        changes: fields of GRPOConfig that differ from the reported ones.

    Raises:
        TypeError: GRPOConfig has no such field.
    """
    from peft import LoraConfig, get_peft_model  # takes seconds

    base = zoo.load_policy(model, device=device, dtype=dtype)
    config = LoraConfig(
        r=16,
        lora_alpha=32,
        lora_dropout=0.05,
        target_modules=["q_proj", "v_proj"],
        task_type="CAUSAL_LM",
    )

    def make_model():
        if mark_inputs == "before":
            base.enable_input_require_grads()
        trained = get_peft_model(base, config) if lora else base
        if mark_inputs == "after":
            trained.enable_input_require_grads()
        if "TRL" not in guards:
            base.enable_input_require_grads = lambda: None
        return trained

    is_default = "default checkpointing" in guards
    reported = dict(
        learning_rate=1e-5,
        lr_scheduler_type="linear",
        bf16=True,
        per_device_train_batch_size=16,
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs=None if is_default else REENTRANT,
        max_completion_length=6,
        temperature=1.5,
        max_steps=2,
        use_cpu=base.device.type == "cpu",
    )
    trainer = tiny_grpo.grpo_trainer(
        reward_len,
        seed=seed,
        make_model=make_model,
        tokenizer=model,
        num_prompts=64,
        **_with_new_names(reported | changes),
    )
    if "Transformers" not in guards:
        base.enable_input_require_grads = lambda: None
    elif "TRL" not in guards:
        del base.enable_input_require_grads  # the method of the class shows through again
    return trainer


def reward_run(*, enable_input_require_grads: bool = False, **changes: object):
    """Build a RewardTrainer with LoRA and reentrant checkpointing and without today's hook.

    Args:
        enable_input_require_grads: put the hook back by hand.
        changes: fields of RewardConfig, or an argument of `reward_trainer`.
    """
    settings = dict(
        dtype="float32",
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs=REENTRANT,
        per_device_train_batch_size=16,
        gradient_accumulation_steps=1,
        learning_rate=5e-3,
        chat=True,
    )
    trainer = reward_trainer(**_with_new_names(settings | changes))
    base = trainer.model.get_base_model()
    forget_input_hook(base)
    if enable_input_require_grads:
        type(base).enable_input_require_grads(base)
    return trainer


@dataclass(frozen=True)
class Outcome:
    """What a run did to its adapters: raised, or moved some of them."""

    raised: bool
    num_adapters: int  # lora_B matrices; each is 0 before the first step
    num_moved: int
    others_moved: bool  # trained weights that belong to no adapter

    @property
    def word(self) -> str:
        """ "error", "silent" (something trains, no adapter does) or "trains"."""
        if self.raised:
            return "error"
        adapters_stood_still = self.num_adapters > 0 and self.num_moved == 0
        return "silent" if adapters_stood_still else "trains"


def outcome_of(trainer) -> Outcome:
    """Train, and say whether the reported error came and which adapters moved."""
    trained = [n for n, p in trainer.model.named_parameters() if p.requires_grad]
    num_adapters = sum("lora_B" in name for name in trained)
    try:
        changes = training.train_and_compare(trainer)
    except RuntimeError as error:
        if MESSAGE not in str(error):
            raise
        return Outcome(raised=True, num_adapters=num_adapters, num_moved=0, others_moved=False)
    moved = [change.name for change in changes if change.share_moved]
    num_moved = sum("lora_B" in name for name in moved)
    return Outcome(
        raised=False,
        num_adapters=num_adapters,
        num_moved=num_moved,
        others_moved=any("lora" not in name for name in moved),
    )


@dataclass(frozen=True)
class Outcomes:
    """The outcome of several named runs."""

    found: dict[str, Outcome]

    @property
    def words(self) -> dict[str, str]:
        return {run: outcome.word for run, outcome in self.found.items()}

    def table(self) -> Table:
        rows = []
        for run, outcome in self.found.items():
            adapters = f"{outcome.num_moved} of {outcome.num_adapters}"
            rows.append((run, adapters if outcome.num_adapters else "-", outcome.word))
        return Table(columns=("run", "lora_B moved", "outcome"), rows=rows)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def grpo_outcomes(settings: dict[str, dict], **run: object) -> Outcomes:
    """Train the reported GRPO run with each named set of changes."""
    return Outcomes(
        {name: outcome_of(grpo_trainer(**run | changes)) for name, changes in settings.items()}
    )
