"""Parts that incidents share: sums as rows, a Trainer or a loop as a `Run`, three variants.

A run whose report is an exception ends with it as its last entry: `{"error": "TypeName: text"}`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from datasets import Dataset
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler
from transformers import PreTrainedTokenizerBase, Trainer, TrainingArguments, set_seed

from course_utils import zoo
from course_utils.incidents.declare import Run, Variant
from course_utils.reproductions.lesson_07.batches import Batch, padded, prompt_and_reply
from course_utils.reproductions.lesson_07.never_stops import behaviour
from course_utils.zoo import training

Row = tuple[list[int], list[int]]  # ids, and labels of the same length
KEYS = ("input_ids", "labels")
LORA = dict(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


@dataclass(frozen=True)
class Variants:
    """`make` of an incident: one builder, called with the settings of each variant.

    Attributes:
        build: takes `seed` and the settings, returns a run.
        broken, twin: what the two differ in.
        mended: None where the fix gives the twin itself.
    """

    build: Callable[..., Run]
    broken: dict
    twin: dict
    mended: dict | None = None

    def __call__(self, variant: Variant, seed: int) -> Run:
        mended = self.twin if self.mended is None else self.mended
        settings = {"broken": self.broken, "twin": self.twin, "mended": mended}[variant]
        set_seed(seed)
        return self.build(seed=seed, **settings)


# --- rows of sums -----------------------------------------------------------------------------


def chats(n: int, seed: int, *, level: str = "easy") -> list[list[dict]]:
    """Questions with their answers, as conversations of two messages."""
    drawn = zoo.arithmetic.prompts(n, seed, level=level)
    return [[*row["prompt"], {"role": "assistant", "content": row["answer"]}] for row in drawn]


def reply_row(chat: list[dict], tokenizer: PreTrainedTokenizerBase) -> Row:
    """A conversation whose last message, and its end, is learnt."""
    asked, said = prompt_and_reply(chat, tokenizer)
    return asked + said, [-100] * len(asked) + said


def reply_rows(n: int, seed: int, tokenizer: PreTrainedTokenizerBase) -> list[Row]:
    return [reply_row(chat, tokenizer) for chat in chats(n, seed)]


def batches(rows: Sequence[Row], size: int, pad: int) -> list[Batch]:
    """Rows in their order, `size` at a time, padded on the right."""
    return [padded(rows[at : at + size], pad) for at in range(0, len(rows), size)]


# --- runs -------------------------------------------------------------------------------------


def of_trainer(
    trainer: Trainer,
    facts: Callable[[], dict[str, float]] = dict,
    *,
    raises: type[Exception] | tuple = (),
    **parts: object,
) -> Run:
    """The run of a Trainer; `raises` is what it may end with."""

    def start() -> None:
        set_seed(trainer.args.seed)
        try:
            trainer.train()
            run.log = trainer.state.log_history
        except raises as error:
            said = {"error": f"{type(error).__name__}: {error}"}
            run.log = [*trainer.state.log_history, said]

    run = Run(model=trainer.model, start=start, trainer=trainer, facts=facts, parts=parts)
    return run


def plain_trainer(
    model: nn.Module,
    rows: Sequence[Row],
    pad: int,
    *,
    seed: int,
    kind: type[Trainer] = Trainer,
    collate: Callable | None = None,
    tested: Sequence[Row] = (),
    **settings: object,
) -> Trainer:
    """Transformers' own Trainer in float32 on rows; `settings` are TrainingArguments'.

    `tested` are rows for `evaluate`, every few steps where `eval_strategy` says so.
    """
    known = dict(
        max_steps=20,
        learning_rate=1e-3,
        warmup_steps=4,
        per_device_train_batch_size=16,
        logging_steps=1,
        use_cpu=True,
        seed=seed,
    )
    return kind(
        model=model,
        args=TrainingArguments(**training.quiet_config() | known | settings),
        train_dataset=dataset_of(rows),
        eval_dataset=dataset_of(tested) if tested else None,
        data_collator=collate
        or (lambda rows: padded([tuple(r[k] for k in KEYS) for r in rows], pad)),
    )


def dataset_of(rows: Iterable[Row]) -> Dataset:
    """Rows of ids and labels, as a Trainer takes them."""
    return Dataset.from_list([dict(zip(KEYS, row, strict=True)) for row in rows])


def model_loss(model: nn.Module, batch: Batch) -> Tensor:
    return model(**batch).loss


def of_loop(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    steps: Iterable[Batch],
    *,
    loss: Callable[[nn.Module, Batch], Tensor] = model_loss,
    facts: Callable[[], dict[str, float]] = dict,
    schedule: LRScheduler | None = None,
    ticks: int = 1,
    **parts: object,
) -> Run:
    """The run of a loop of one's own: a batch a step, clipped at 1.

    `schedule` is stepped `ticks` times a step.

    `parts["on_step"]`, where somebody sets one, is called with each entry of the log.
    """
    steps = list(steps)

    def start() -> None:
        for number, batch in enumerate(steps, 1):
            value = loss(model, batch)
            value.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            rate = optimizer.param_groups[0]["lr"]
            for _ in range(ticks if schedule else 0):
                schedule.step()
            entry = {"step": number, "loss": value.item(), "grad_norm": norm.item()}
            run.log.append(entry | {"learning_rate": rate})
            run.parts.get("on_step", bool)(run.log[-1])

    made = {"optimizer": optimizer, "batch": steps[0], "loss": loss}
    run = Run(model=model, start=start, facts=facts, parts=made | parts)
    return run


# --- what a run has shown ---------------------------------------------------------------------


def logged(run: Run, field: str = "loss") -> list[float]:
    """The values of a field, in order."""
    return [entry[field] for entry in run.log if field in entry]


def error(run: Run) -> str:
    """The exception that ended the run, or nothing."""
    return "".join(logged(run, "error"))


def moves(model: nn.Module, part: str = "") -> Callable[[], dict[str, float]]:
    """Facts: the share of the weights that have moved since this call.

    Of those whose name holds `part`, or without one of those that are trained.
    """
    watched = {
        n: p for n, p in model.named_parameters() if (part in n if part else p.requires_grad)
    }
    before = {name: weight.detach().clone() for name, weight in watched.items()}

    def facts() -> dict[str, float]:
        moved = sum(int((watched[name] != old).sum()) for name, old in before.items())
        return {"moved": moved / sum(old.numel() for old in before.values())}

    return facts


def learns(model: nn.Module, rows: Sequence[Row], pad: int) -> Callable[[], dict[str, float]]:
    """Facts: the loss on these rows at this call, and when asked; without dropout."""

    @torch.no_grad()
    def loss() -> float:
        mode = model.training
        value = model_loss(model.eval(), padded(rows, pad)).item()
        model.train(mode)
        return value

    before = loss()
    return lambda: {"loss before": before, "loss after": loss()}


def ends(model: nn.Module) -> Callable[[], dict[str, float]]:
    """Facts: the share of replies that end by themselves, and of those that are right."""

    def facts() -> dict[str, float]:
        seen = behaviour(model, n=32)
        return {"stops": seen.stops, "right": seen.right}

    return facts
