"""The subject of a diagnosis: a model, with what is known of its run and trainer."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from course_utils.diagnostics.batch_view.rows import first_rows, unchanged
from course_utils.diagnostics.libraries.pairs import as_rows
from course_utils.diagnostics.libraries.trainer import of_columns
from course_utils.diagnostics.libraries.trainer_begins import MAKE_LOADERS
from course_utils.diagnostics.loss_kind import Loss, loss_of_batch
from course_utils.diagnostics.nonfinite.batches import keep, rebuild
from course_utils.diagnostics.nonfinite.targets import Target, open_target
from course_utils.diagnostics.reach.groups import embeddings
from course_utils.errors import BadRequest
from course_utils.explain.paste.fields import canonical

NUM_ROWS = 8
RELEASE = 0.5  # nats per token: an older release of the policy is nearer to it than that
POLICY, PAIRS, REPLIES, SCORES = "policy", "pairs", "replies", "scores"
TRAINING, LOOP = "training", "loop"
_BY_CLASS = (
    ("GRPOTrainer", POLICY),
    ("RLOOTrainer", POLICY),
    ("DPOTrainer", PAIRS),
    ("KTOTrainer", REPLIES),
    ("BCOTrainer", REPLIES),
    ("RewardTrainer", SCORES),
)
_LOSSES = {
    POLICY: Loss.POLICY,
    PAIRS: Loss.PAIRS,
    REPLIES: Loss.REPLIES,
    SCORES: Loss.SCORES,
}
_PER_TOKEN = ("Trainer", "Seq2SeqTrainer", "SFTTrainer")  # whose loss is that of their model


@dataclass
class Subject:
    """A model and its run. What is None is not known, and not looked at."""

    model: nn.Module
    trainer: Any = None
    tokenizer: Any = None
    batch: Mapping[str, Any] | None = None  # one batch as the model takes it
    loss_of: Callable[[Any], Any] | None = None  # a function of the batch
    optimizer: Any = None
    sampler: Any = None  # the model that samples, where it is another object
    reference: Any = None  # the model that the KL or DPO compares with
    served: Any = None  # the merged, reloaded or exported model, or a function that loads it
    log: list[dict] = field(default_factory=list)
    why_no_batch: str = ""
    processes: int = 1
    settings: dict[str, Any] = field(default_factory=dict)  # of a loop of one's own, by name
    makes_own_schedule: bool = False  # a Trainer that was given no optimizer and no schedule
    replies_before: Any = None  # PairReplies of the policy before its run
    probe_rewards: bool = False  # whether reward functions may be called for a look
    was_put_back: bool = False  # whether other weights were loaded behind the last step
    changed_rows: int = 0  # of the first rows, those whose ids the collator has changed in place
    has_plain_cosines: bool = False  # whether a softmax over the batch was seen to get them
    is_drawn: bool = False  # whether all norms were 1 before the first step, as no checkpoint's are
    reference_kl: float | None = None  # nats per token of the first replies, before training
    idle: frozenset[str] = frozenset()  # trainable weights that no forward pass was seen to use

    @property
    def kind(self) -> str:
        names = {base.__name__ for base in type(self.trainer).__mro__}
        found = (kind for name, kind in _BY_CLASS if name in names)
        return LOOP if self.trainer is None else next(found, TRAINING)

    @property
    def loss(self) -> Loss:
        """What the loss of the run is, which decides the rules that hold for it."""
        return _LOSSES.get(self.kind) or loss_of_batch(self.batch, self.model)

    @property
    def rows(self) -> Mapping[str, Any] | None:
        """The batch as rows of tokens: TRL until 0.24 keeps the two sides of a pair apart."""
        if self.kind not in (PAIRS, SCORES):
            return self.batch
        return as_rows(self.batch, self.trainer, getattr(self.tokenizer, "pad_token_id", None))

    @property
    def args(self) -> Any:
        return getattr(self.trainer, "args", None)

    def logged(self, name: str) -> list[float]:
        """What the log holds under any spelling of a field, such as "reward_std"."""
        fields = [field for row in self.log for field in row.items()]
        return [v for k, v in fields if canonical(k) == name and isinstance(v, int | float)]

    @property
    def name(self) -> str:
        return type(self.trainer or self.model).__name__

    @property
    def target(self) -> Target:
        """In the form of the other instruments."""
        return open_target(self.trainer or self.model, None if self.trainer else self.loss_of)

    @property
    def has_ended(self) -> bool:
        """Whether the Trainer has already taken steps."""
        return getattr(getattr(self.trainer, "state", None), "global_step", 0) > 0

    @property
    def own_optimizer(self) -> Any:
        """A Trainer's optimizer, if it is another than its settings would make; else None."""
        held = getattr(self.optimizer, "optimizer", self.optimizer)  # accelerate wraps it
        if held is None or self.args is None or self.has_ended:
            return None
        asked = str(getattr(self.args.optim, "value", self.args.optim)).lower()
        is_asked = type(held).__name__.lower() in asked
        return None if is_asked and self.rate_of(held) == self.args.learning_rate else held

    @staticmethod
    def rate_of(optimizer: Any) -> float | None:
        """The largest rate that an optimizer began with; None where it sets its own."""
        groups = getattr(optimizer, "param_groups", ())
        rates = [group.get("initial_lr", group.get("lr")) for group in groups]
        known = [float(rate) for rate in rates if rate is not None]
        return max(known) if known and len(known) == len(rates) else None

    def rate_of_most(self, optimizer: Any) -> float | None:
        """The rate that an optimizer's weights begin with, in the median; a head may have more."""
        rates = [
            (float(group.get("initial_lr", group["lr"])), weight.numel())
            for group in getattr(optimizer, "param_groups", ())
            for weight in group["params"]
            if group.get("lr") is not None
        ]
        half, seen = sum(size for _, size in rates) / 2, 0
        for rate, size in sorted(rates):
            seen += size
            if seen >= half:
                return rate
        return None

    @property
    def steps_by_rate(self) -> bool:
        """Whether a step moves each weight by about the learning rate, as Adam and Lion do.

        Both keep moments (betas) in each group; a step size that is estimated (d) scales the rate.
        """
        own = getattr(self.optimizer, "optimizer", self.optimizer)  # accelerate wraps it
        given = getattr(self.trainer, "optimizer_cls_and_kwargs", None)
        kind = given[0] if own is None and given else type(own)
        named = getattr(self.args, "optim", "") if kind is type(None) else kind.__name__
        is_named = re.search("adam|lion", str(getattr(named, "value", named)).lower())
        groups = getattr(own, "param_groups", ())
        return bool(is_named) and all("betas" in one and "d" not in one for one in groups)

    @property
    def has_own_loader(self) -> bool:
        """Whether the user's own method makes the Trainer's loader, or its order of the rows."""
        makers = (getattr(type(self.trainer), name, None) for name in MAKE_LOADERS)
        return any(one is not None and not is_of_a_library(one) for one in makers)

    @property
    def has_own_loss(self) -> bool:
        """Whether the loss is the user's own function, which may ask for no labels."""
        if self.trainer is None:
            return self.loss_of is not None
        is_given = getattr(self.trainer, "compute_loss_func", None) is not None
        return is_given or not is_of_a_library(type(self.trainer).compute_loss)

    @property
    def held_models(self) -> dict[str, nn.Module]:
        """Other models that the Trainer holds, or that its own loss uses, by their names there."""
        held = dict(vars(self.trainer)) if self.trainer is not None else {}
        if self.trainer is not None and self.has_own_loss:
            function = inspect.unwrap(type(self.trainer).compute_loss)
            is_plain = inspect.isfunction(function)
            held |= inspect.getclosurevars(function).nonlocals if is_plain else {}
        own = {id(one) for one in self.model.modules()}
        return {
            name: one
            for name, one in held.items()
            if isinstance(one, nn.Module)
            and id(one) not in own
            and id(self.model) not in {id(inner) for inner in one.modules()}
        }

    @property
    def second_model(self) -> str:
        """The name of the first of them, or ""."""
        return next(iter(self.held_models), "")

    @property
    def logs_nats_per_token(self) -> bool:
        """Whether the log's loss is the model's own, a mean over tokens that are predicted."""
        owner = (
            type(self.trainer).compute_loss.__qualname__.partition(".")[0] if self.trainer else ""
        )
        is_own = self.has_own_loss or (owner and owner not in _PER_TOKEN)
        is_own = is_own or getattr(self.args, "loss_type", None) == "dft"  # of SFTTrainer
        return self.loss is Loss.NEXT_TOKEN and not is_own

    @property
    def share_trainable(self) -> float:
        """The share of the weights that are trained: small for a head, an adapter or a prompt."""
        whole = sum(p.numel() for p in self.model.parameters())
        return sum(p.numel() for p in self.trainable().values()) / max(whole, 1)

    @property
    def frozen_as_drawn(self) -> tuple[str, ...]:
        """The frozen tensors, where they are most weights, or the tokens' own, and no checkpoint's;
        none of an adapter's base, which may be a stand-in."""
        if not self.is_drawn or hasattr(self.model, "peft_config"):
            return ()
        frozen = {name: p for name, p in self.model.named_parameters() if not p.requires_grad}
        table = getattr(embeddings(self.model)[0], "weight", None)
        holds_table = any(p is table for p in frozen.values())
        return tuple(frozen) if holds_table or self.share_trainable <= 0.5 else ()

    @property
    def batch_maker(self) -> str:
        """What makes the batch, with its line where it is a function."""
        collator = getattr(self.trainer, "data_collator", None)
        if not inspect.isfunction(collator):
            return type(collator).__name__ if collator is not None else "what makes the batch"
        code = collator.__code__
        return f"{collator.__name__} ({Path(code.co_filename).name}:{code.co_firstlineno})"

    def batch_at_model(self) -> Any:
        """A copy of the batch where the model is: a collator leaves it on the CPU."""
        device = next(self.model.parameters()).device
        return rebuild(
            keep(self.batch), lambda one: one.to(device) if isinstance(one, Tensor) else one
        )

    def trainable(self) -> dict[str, Tensor]:
        return {name: p for name, p in self.model.named_parameters() if p.requires_grad}


def of_trainer(trainer: Any) -> Subject:
    """A Trainer's model, tokenizer, first rows, reference and log. Changes nothing."""
    processor = getattr(trainer, "processing_class", None)
    if processor is None:
        processor = _held_by(getattr(trainer, "data_collator", None))
    subject = Subject(
        model=trainer.model,
        trainer=trainer,
        tokenizer=_tokenizer_in(processor),
        optimizer=getattr(trainer, "optimizer", None),
        reference=getattr(trainer, "ref_model", None),
        log=trainer.state.log_history,
        makes_own_schedule=getattr(trainer, "lr_scheduler", None) is None
        and is_of_a_library(getattr(type(trainer), "create_scheduler", None)),
    )
    try:
        with unchanged(trainer.train_dataset, trainer.data_collator):
            rows = first_rows(trainer.train_dataset, NUM_ROWS)
            before = [_ids_in(row) for row in rows]
            batch = trainer.data_collator(of_columns(trainer, rows))
            subject.changed_rows = sum(
                len(was) == len(now) and was != now
                for was, now in zip(before, map(_ids_in, rows), strict=True)
            )
        is_batch = isinstance(batch, Mapping)
        subject.batch = batch if is_batch else None
        subject.why_no_batch = "" if is_batch else "its collator leaves rows as they are"
    except Exception as error:  # a collator or a data set of its own kind
        said = str(error).partition("\n")[0]
        subject.why_no_batch = f"its first rows gave {type(error).__name__}: {said}"[:160]
    return subject


def is_of_a_library(method: Any) -> bool:
    """Whether a Trainer's method is the one that its library wrote."""
    return getattr(method, "__module__", "").partition(".")[0] in ("transformers", "trl")


def _ids_in(row: Any) -> list:
    """The ids of a row whose columns are lists, as they are now."""
    ids = row.get("input_ids") if isinstance(row, Mapping) else None
    return list(ids) if isinstance(ids, list) else []


def _held_by(collator: Any) -> Any:
    """The tokenizer or processor that a collator holds, as an attribute or as a name that it uses.

    None where it holds several.
    """
    for name in ("tokenizer", "processor", "processing_class"):
        if getattr(collator, name, None) is not None:
            return getattr(collator, name)
    function = getattr(collator, "__func__", collator)
    if not inspect.isfunction(function):
        return None
    used = inspect.getclosurevars(function)
    held = {
        id(one): one
        for one in (*used.nonlocals.values(), *used.globals.values())
        if hasattr(one, "eos_token_id") and hasattr(one, "decode")
    }
    return next(iter(held.values())) if len(held) == 1 else None


def _tokenizer_in(processor: Any) -> Any:
    """The tokenizer, or the one inside a processor; None for images or sound alone."""
    tokenizer = getattr(processor, "tokenizer", processor)
    return tokenizer if hasattr(tokenizer, "eos_token_id") else None


def of_parts(
    model: nn.Module,
    *,
    batch: Any = None,
    loss: Callable[..., Any] | None = None,
    log: list[dict] | None = None,
    **parts: Any,
) -> Subject:
    """A loop of one's own.

    Args:
        loss: a function of the model and a batch; without it the model returns the loss.
        log: one dict an entry, such as a loop prints; it may still be empty, and fill up.
        parts: `optimizer`, `tokenizer`, `sampler`, `reference`, `served`, the number of
            `processes` that the run has, and its `settings` (a mapping, a dataclass or a namespace;
            of a nested one the innermost names count).

    Raises:
        BadRequest: this is no model, or there is a part of another name.
    """
    if not isinstance(model, nn.Module):
        raise BadRequest(
            f"{type(model).__name__} is no model, Trainer or folder",
            why="a diagnosis needs something with weights, or what was saved of it",
            fix="call diagnose(trainer), diagnose(model=..., batch=...) or diagnose('folder')",
        )
    known = {"optimizer", "tokenizer", "sampler", "reference", "served", "processes", "settings"}
    if unknown := parts.keys() - known:
        raise BadRequest(
            f"nothing is done with {', '.join(sorted(unknown))}",
            why="what is not looked at must not look as if it were",
            fix=f"known are batch, loss, log, {', '.join(sorted(known))}",
        )
    loss_of = partial(loss, model) if loss is not None else None
    history = log if log is not None else []
    parts["settings"] = flat_settings(parts.get("settings"))
    return Subject(model=model, batch=batch, loss_of=loss_of, log=history, **parts)


def flat_settings(settings: Any) -> dict[str, Any]:
    """A configuration by its innermost names, those of its own level first.

    >>> flat_settings({"actor": {"kl_loss_coef": 0.1}, "n": 8})
    {'n': 8, 'kl_loss_coef': 0.1}
    """
    known = settings if isinstance(settings, Mapping) else vars(settings) if settings else {}
    plain = {str(k): v for k, v in known.items() if not isinstance(v, Mapping)}
    for inner in (v for v in known.values() if isinstance(v, Mapping)):
        plain |= {name: v for name, v in flat_settings(inner).items() if name not in plain}
    return plain
