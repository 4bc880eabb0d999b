"""The settings of a run that its report shows, in a few lines."""

from typing import Any

import torch
from torch import nn

from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, PAIRS, POLICY, Subject
from course_utils.diagnostics.libraries.trainer import attention_of

OF_KIND = {  # besides those of every Trainer
    POLICY: (
        *("loss_type", "beta", "scale_rewards", "num_generations", "num_iterations"),
        *("max_completion_length", "temperature", "top_p", "reward_weights", "use_vllm"),
    ),
    PAIRS: ("loss_type", "beta", "max_length", "precompute_ref_log_probs"),
}
OF_ROWS = (
    *("max_length", "packing", "packing_strategy", "padding_free", "assistant_only_loss"),
    *("completion_only_loss", "eos_token"),
)


def write_settings(subject: Subject, sheet: Sheet) -> None:
    """Write down size, schedule, weights, tokens, and settings special to the kind of run."""
    sheet.values |= subject.settings | (vars(subject.args) if subject.args is not None else {})
    formats = {_plain(p.dtype) for p in subject.model.parameters()}
    sheet.values |= {"weights_format": formats.pop()} if len(formats) == 1 else {}
    for name, of in (("steps", _steps), ("weights", _weights), ("tokens", _tokens), ("run", _own)):
        with sheet.trying(f"the settings of the {name}"):
            if said := of(subject):
                sheet.settings[name] = said


def _steps(subject: Subject) -> str:
    args = subject.args
    if args is None:
        return _loop_settings(subject)
    size = f"{args.per_device_train_batch_size} rows x {args.gradient_accumulation_steps}"
    return (
        f"{size} micro-batches x {_processes(args.world_size)}; {_optimizer(subject)}, max_steps "
        f"{args.max_steps}, bf16 {args.bf16}, fp16 {args.fp16}"
    )


def _optimizer(subject: Subject) -> str:
    """Optimizer, rate and schedule: of the settings, or those that the Trainer was given."""
    args = subject.args
    if subject.own_optimizer is None:
        asked = _plain(args.lr_scheduler_type)
        return f"{_plain(args.optim)}, {args.learning_rate:g}, {asked}"
    rate = subject.rate_of(subject.own_optimizer)
    schedule = getattr(subject.trainer, "lr_scheduler", None)
    said = "which sets its own rate" if rate is None else f"{rate:g}"
    kind = _plain(args.lr_scheduler_type) if schedule is None else type(schedule).__name__
    return f"{type(subject.own_optimizer).__name__}, {said}, {kind}"


def _loop_settings(subject: Subject) -> str:
    groups = getattr(subject.optimizer, "param_groups", None)
    rates = [group.get("initial_lr", group["lr"]) for group in groups or ()]
    rate = f"{type(subject.optimizer).__name__}, {max(rates):g}; " if rates else ""
    return f"a loop of its own; {rate}{_processes(subject.processes)}"


def _processes(count: int) -> str:
    return f"{count} process" if count == 1 else f"{count} processes"


def _weights(subject: Subject) -> str:
    model = subject.model
    config = getattr(model, "config", None)
    attention = attention_of(config)
    parts = [
        f"{type(model).__name__}",
        " and ".join(sorted({_plain(p.dtype) for p in model.parameters()})),
        f"attn_implementation {attention}" if attention else "",
        f"vocabulary {config.vocab_size}" if hasattr(config, "vocab_size") else "",
        f"dropout {dropout:g}" if (dropout := _dropout(model)) else "",
    ]
    return ", ".join(filter(None, parts))


def _dropout(model: nn.Module) -> float:
    return max((m.p for m in model.modules() if isinstance(m, nn.Dropout)), default=0.0)


def _tokens(subject: Subject) -> str:
    tokenizer = subject.tokenizer
    if tokenizer is None:
        return ""
    named = (("pad", tokenizer.pad_token), ("end", tokenizer.eos_token))
    ids = {"pad": tokenizer.pad_token_id, "end": tokenizer.eos_token_id}
    said = ", ".join(f"{what} {word!r} ({ids[what]})" for what, word in named)
    same = "one token" if ids["pad"] == ids["end"] else "two tokens"
    stops = getattr(getattr(subject.model, "generation_config", None), "eos_token_id", None)
    return f"{said}: {same}; generation stops at {stops}"


def _own(subject: Subject) -> str:
    """Settings special to a Trainer's kind; for a loop, the settings that it was given."""
    if subject.kind == LOOP:
        known = subject.settings
    else:
        names = OF_KIND.get(subject.kind, OF_ROWS)
        known = {name: getattr(subject.args, name, None) for name in names}
    said = {k: v for k, v in known.items() if isinstance(v, str | int | float | list)}
    return ", ".join(f"{name} {_plain(value)}" for name, value in said.items())


def _plain(value: Any) -> str:
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, float):
        return f"{value:g}"
    return str(getattr(value, "value", value))
