"""The commonest faults of fine-tuning and post-training, each as one change of an ordinary run.

They were written together with the looks that name them, so they say what the looks cover, and
nothing of runs that nobody here wrote.
"""

from importlib import import_module

from common_faults.registry import FAULTS, Fault

__all__ = ["FAULTS", "Fault"]

OWN = (
    "own_loops",
    "own_losses",
    "own_trainers",
    "own_habits",
    "own_numbers",
    "own_tasks",
    "own_service",
)  # with twins
for module in ("rows", "evaluations", "settings", "models", "loops", "preferences", *OWN):
    import_module(f"common_faults.{module}")
