"""The reward-model run of lesson 03, small: the reported settings, three optimizer steps."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import partial

from course_utils import zoo
from course_utils.errors import BadRequest
from course_utils.shown.report import Table
from course_utils.zoo import training
from course_utils.zoo.training import WeightChange

MIN_SHARE_MOVED = 0.5
MAX_LEARNING_RATES = 10.0  # three steps of the decaying schedule add up to two
MAX_SHARE_FORGOTTEN = 0.005  # of a head of 128 weights not one


def reward_trainer(
    *,
    dtype: str = "float16",
    task_type: str | None = "SEQ_CLS",
    model: str = "tiny",
    device: str = "auto",
    seed: int = 0,
    chat: bool = False,
    full: bool = False,
    num_test: int = 0,
    callbacks: list | None = None,
    **changes: object,
):
    """Build a real RewardTrainer with LoRA in the reported configuration, with `changes`.

    Args:
        dtype: of the base model's weights, as in `from_pretrained(dtype=...)`. "auto" is what it
            was for the report's checkpoint: bfloat16.
        task_type: LoRA's; SEQ_CLS makes PEFT train a full copy of the `score` head.
        model: "tiny", a hub id or a local path.
        chat: whether the pairs are chats: twice as long and learnt better, see zoo.arithmetic.
        full: whether every weight is trained instead of LoRA's and the head's.
        num_test: pairs held out for `trainer.evaluate()`, whose sums no training pair has.
        callbacks: TrainerCallbacks to add.
        changes: fields of RewardConfig that differ from the reported ones.

    Raises:
        BadRequest: RewardConfig has no such field.
    """
    from peft import LoraConfig  # takes seconds, as the next two do
    from transformers import set_seed
    from trl import RewardConfig, RewardTrainer

    _check_names(changes, fields(RewardConfig))
    set_seed(seed)
    reported = dict(
        learning_rate=1e-5,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=2,
        logging_steps=1,
        max_steps=3,
        activation_checkpointing=False,
        bf16=False,
        optim="adamw_torch",
        use_cpu=zoo.pick_device(device).type == "cpu",
        seed=seed,
    )
    lora = LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"], task_type=task_type)
    config = RewardConfig(**(training.quiet_config() | reported | changes))
    pairs_a_step = config.per_device_train_batch_size * config.gradient_accumulation_steps
    num_pairs = config.max_steps * pairs_a_step
    draw = partial(zoo.arithmetic.preferences, rejected="guess", chat=chat)
    return RewardTrainer(
        model=zoo.load_reward_model(model, device=device, dtype=dtype_name(dtype), seed=seed),
        args=config,
        train_dataset=draw(num_pairs, seed),
        eval_dataset=draw(num_test, seed, split="test") if num_test else None,
        processing_class=zoo.load_tokenizer(model),
        callbacks=callbacks,
        peft_config=None if full else lora,
    )


def dtype_name(dtype: object) -> str:
    """A format's name from a torch.dtype or a name; "auto" is bfloat16, as Qwen's checkpoints are.

    >>> dtype_name("auto"), dtype_name("torch.float32")
    ('bfloat16', 'float32')
    """
    return "bfloat16" if dtype == "auto" else str(dtype).removeprefix("torch.")


def _check_names(changes: dict[str, object], known: Iterable) -> None:
    names = ["dtype", "task_type", *(field.name for field in known)]
    for name in changes:
        if name not in names:
            close = get_close_matches(name, names, cutoff=0.5)
            raise BadRequest(
                f"there is no setting {name!r}",
                why="a setting is a field of RewardConfig, or dtype, or task_type",
                fix=f"did you mean {' or '.join(close)}?" if close else "look at RewardConfig's",
            )


@dataclass(frozen=True)
class Heads:
    """How several runs changed their trained weights, above all the score head."""

    changes: dict[str, list[WeightChange]]

    @property
    def num_dead(self) -> dict[str, int]:
        """Number of trained tensors that hold inf or nan, for each run."""
        return {run: sum(c.num_dead > 0 for c in found) for run, found in self.changes.items()}

    @property
    def heads(self) -> dict[str, WeightChange | None]:
        """The state of the score head of each run; None if it is not trained."""
        return {
            run: next((c for c in found if "score" in c.name), None)
            for run, found in self.changes.items()
        }

    def in_words(self, run: str) -> str:
        """One run's head in one or two words: dead, frozen, still, too fast, forgetful, healthy.

        Still: less than half of it moved. Too fast: some weight moved over ten learning rates.
        Forgetful: AdamW's second moment is 0 for some of it, though its gradient was not.
        """
        head = self.heads[run]
        if self.num_dead[run]:
            return "dead"
        if head is None:
            return "frozen"
        if head.share_moved < MIN_SHARE_MOVED:
            return "still"
        if head.largest_move > MAX_LEARNING_RATES:
            return "too fast"
        return "forgetful" if head.share_forgotten > MAX_SHARE_FORGOTTEN else "healthy"

    def table(self) -> Table:
        rows = []
        for run, head in self.heads.items():
            dead = f"{self.num_dead[run]} of {len(self.changes[run])}"
            numbers = ("-", "-", "-")
            if head and not self.num_dead[run]:
                moved = f"{round(10 * head.share_moved) * 10}%"
                forgets = head.share_forgotten > MAX_SHARE_FORGOTTEN
                numbers = (moved, f"{head.largest_move:.2g}", "some" if forgets else "none")
            rows.append((run, dead, *numbers, self.in_words(run)))
        columns = ("run", "dead tensors", "head moved", "largest move / lr", "v = 0", "head")
        return Table(columns=columns, rows=rows)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def heads_after(settings: dict[str, dict], **run: object) -> Heads:
    """Train three steps with each named set of changes, and compare the resulting heads."""
    return Heads(
        {
            name: training.train_and_compare(reward_trainer(**run | changes))
            for name, changes in settings.items()
        }
    )
