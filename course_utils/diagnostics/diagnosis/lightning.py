"""`lightning_callback`: rides along with a run of Lightning and reports at its end."""

import sys
from importlib import import_module
from typing import Any

from torch import nn

from course_utils.diagnostics.diagnosis.front import watching

PACKAGES = ("lightning.pytorch", "pytorch_lightning")  # one library under two names


def lightning_callback(**parts: Any) -> Any:
    """A callback for Lightning's Trainer: `Trainer(callbacks=[lightning_callback()])`.

    The report is printed when fit() ends, and before an exception goes on.

    Args:
        parts: as for `diagnose` of a model, such as `tokenizer=`, `log=` and `batch=`. `model=` is
            the model inside the LightningModule; without it, its only part that has weights.
    """
    package = next((name for name in PACKAGES if name in sys.modules), PACKAGES[0])

    class Riding(import_module(package).Callback):
        ride: Any = None

        def on_train_start(self, trainer: Any, pl_module: nn.Module) -> None:
            known = {"model": _inner(pl_module), "optimizer": trainer.optimizers[0]}
            self.ride = watching(**known | parts, then=print if trainer.is_global_zero else None)
            self.ride.__enter__()

        def on_train_end(self, trainer: Any, pl_module: nn.Module) -> None:
            self._leave(None)

        def on_exception(self, trainer: Any, pl_module: nn.Module, exception: BaseException):
            self._leave(exception)

        def _leave(self, error: BaseException | None) -> None:
            if self.ride is not None:
                ride, self.ride = self.ride, None
                ride.__exit__(type(error) if error else None, error, None)

    return Riding()


def _inner(module: nn.Module) -> nn.Module:
    """What is called with a batch: Lightning never calls the module itself, only its steps."""
    parts = [part for part in module.children() if next(part.parameters(), None) is not None]
    return parts[0] if len(parts) == 1 else module
