"""Where a script begins to train: `Trainer.train`, or the first step of an optimizer."""

import gc
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook


def stop_at_training(look: Callable[..., NoReturn]) -> None:
    """From now on, whoever begins to train calls `look` instead, as `diagnose` is called."""
    loop = _Loop(look)
    loop.listen()
    if find_spec("transformers") is None:
        return
    from transformers import Trainer

    def instead(trainer: Any, *args: Any, **kwargs: Any) -> NoReturn:
        own = getattr(trainer, "processing_class", None)
        look(trainer, tokenizer=None if own is not None else only_tokenizer())

    Trainer.train = instead


@dataclass
class _Loop:
    """Remembers which models were called, each with its first batch, until an optimizer steps."""

    look: Callable[..., NoReturn]
    calls: dict[int, tuple[nn.Module, tuple, Mapping]] = field(default_factory=dict)
    depth: int = 0

    def listen(self) -> None:
        register_optimizer_step_pre_hook(self._stop)
        call = nn.Module.__call__

        def heard(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            if not self.depth and torch.is_grad_enabled():
                self.calls.setdefault(id(module), (module, args, kwargs))
            self.depth += 1
            try:
                return call(module, *args, **kwargs)
            finally:
                self.depth -= 1

        nn.Module.__call__ = heard

    def _stop(self, optimizer: Optimizer, args: tuple, kwargs: Mapping) -> None:
        closure = kwargs.get("closure") or (args[1] if len(args) > 1 else None)
        if closure is not None:  # as Lightning's: it holds the forward and the backward pass
            with torch.enable_grad():
                closure()
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for model, given, named in self.calls.values():
            if any(id(p) in held for p in model.parameters()):
                batch = _named(model, given, named)
                self.look(model, batch=batch, optimizer=optimizer, tokenizer=only_tokenizer())
        self.look(None)


def _named(model: nn.Module, args: tuple, kwargs: Mapping) -> dict[str, Tensor] | None:
    """The tensors of a call by the names of their arguments; None if they are no tokens."""
    given = inspect.signature(model.forward).bind(*args, **kwargs).arguments
    given |= given.pop("kwargs", {})
    batch = {name: value for name, value in given.items() if isinstance(value, Tensor)}
    return batch if "input_ids" in batch else None


def only_tokenizer() -> Any | None:
    """The script's tokenizer, if it has loaded exactly one."""
    if find_spec("transformers") is None:
        return None
    from transformers import PreTrainedTokenizerBase

    found = [one for one in gc.get_objects() if issubclass(type(one), PreTrainedTokenizerBase)]
    return found[0] if len(found) == 1 else None
