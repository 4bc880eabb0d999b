"""Ordinary healthy runs, written from the examples of Transformers, TRL and PEFT.

No instrument may raise an alarm on them. They were written without a look at any instrument, and
are not changed to please one. `ORDINARY` maps each name to its run.
"""

from importlib import import_module

from ordinary.registry import ORDINARY, Run

__all__ = ["ORDINARY", "Run"]

MODULES = (
    "classification",
    "tagging",
    "language_modeling",
    "seq2seq",
    "vision",
    "audio",
    "post_training",
    "online",
    "adapters",
    "settings",
)
for module in MODULES:
    import_module(f"ordinary.{module}")
