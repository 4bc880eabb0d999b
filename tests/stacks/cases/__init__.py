"""Tiny runs with instruments on them, healthy and broken: what must hold on every stack.

They need torch and the instruments alone; runs of a library that is not installed are left out.
`python -m cases`, in the folder above, runs all of them with the Python that it is called with.

case        one case, and what it must say
answers     each instrument on a run
tiny        models, rows and Trainers
on_trainer  the cases that are the same for every Trainer
"""

from importlib import import_module

from .case import Case, has, is_older

GROUPS = {
    "names": (),
    "loop": (),
    "trainer": ("transformers", "accelerate"),
    "lora": ("transformers", "accelerate", "peft"),
    "sft": ("trl", "datasets"),
    "dpo": ("trl", "datasets"),
    "grpo": ("trl", "datasets"),
}


def all_cases() -> list[Case]:
    """The cases of every library that is installed."""
    found = [name for name, needs in GROUPS.items() if has(*needs)]
    if "grpo" in found and is_older("trl", "0.14"):  # the first with a GRPOTrainer
        found.remove("grpo")
    return [case for name in found for case in import_module(f".{name}", __name__).CASES]
