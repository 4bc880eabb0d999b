"""`adapter_reach`: which weights an adapter reached. Reads names and shapes, trains nothing."""

from typing import Any

from course_utils.diagnostics.one_step import open_model
from course_utils.diagnostics.reach.groups import is_tied
from course_utils.diagnostics.reach.reading import base_of, has_adapter, read
from course_utils.diagnostics.reach.report import AdapterReach
from course_utils.diagnostics.reach.trying import with_adapter
from course_utils.errors import BadRequest


def adapter_reach(of: Any, targets: Any = None) -> AdapterReach:
    """Say which tensors of a model have an adapter, and which weights cannot change.

    Args:
        of: a model or a Trainer; with an adapter of PEFT, or plain. The meta device will do:
            only names and shapes are read.
        targets: of a plain model, the adapter to try: names as `target_modules` takes them,
            "all-linear", a pattern, or a config of PEFT (`LoraConfig()` tries PEFT's defaults).
            It is put on a copy without numbers; the model stays as it is.

    Returns:
        A report; `.groups`, `.misses_experts`, `.adapts_router`, `.unmatched`, `.table()`,
        `.to_dict()`.

    Raises:
        BadRequest: PEFT refuses the targets, or the model has an adapter already.

    Numerics:
        Weights are counted at full size, also where ZeRO-3 shards them or bitsandbytes packs them
        to 4 bits. What GPTQ or AWQ keep in buffers is not counted.

    Source:
        unsloth#6936, where LoRA stood on the attention only and every expert was frozen.

    >>> from torch import nn
    >>> print(adapter_reach(nn.Sequential(nn.Linear(2, 2))).headline)
    No adapter: 2 of 2 tensors are trained.
    """
    model = open_model(of).roots[""]
    if targets is not None:
        if has_adapter(model):
            raise BadRequest(
                "targets for a model that has an adapter",
                why="what the second adapter reached could not be told from the first",
                fix="give the plain model with targets, or this one without",
            )
        model = with_adapter(model, targets)
    configs = getattr(model, "peft_config", None) or {}
    return AdapterReach(
        tensors=tuple(read(model)),
        names=tuple(sorted({name for config in configs.values() for name in _names(config)})),
        has_adapter=has_adapter(model),
        is_tied=is_tied(base_of(model)),
        can_name_parameters=_can_name_parameters(),
    )


def _names(config: Any) -> set[str]:
    """The names of one adapter; a pattern is none."""
    fields = (getattr(config, field, None) for field in ("target_modules", "target_parameters"))
    return {name for names in fields if names and not isinstance(names, str) for name in names}


def _can_name_parameters() -> bool:
    try:
        from peft import LoraConfig
    except ImportError:  # then there is no adapter of PEFT to name
        return True
    return "target_parameters" in LoraConfig.__dataclass_fields__
