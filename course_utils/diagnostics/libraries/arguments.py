"""Whether the arguments that a fix names exist in the installed version."""

import sys
from contextlib import suppress
from dataclasses import fields
from typing import Any

from course_utils.diagnostics.libraries.versions import installed, version_of

# Arguments that fixes name and that some version lacks, with the class that has them.
HOMES = {
    "assistant_only_loss": "SFTConfig",  # 0.24 to 1.16; not in 0.17
    "eos_token": "SFTConfig",  # 0.17 to 1.16; not in 0.15
    "packing_strategy": "SFTConfig",  # 0.24 to 1.16; not in 0.17
    "loss_type": "GRPOConfig",  # 0.17 to 1.16; not in 0.15
    "scale_rewards": "GRPOConfig",  # 0.16 to 1.16; not in 0.15
    "multi_objective_aggregation": "GRPOConfig",  # 1.0 to 1.16; not in 0.24
}


def as_installed(fix: str) -> str:
    """The fix in the values of the installed TRL, with a note for each argument that it lacks."""
    if () < version_of("trl") <= (0, 19):  # dapo: 0.22 to 1.16; dr_grpo: 0.17 to 1.16
        fix = fix.replace("dapo", "dr_grpo")
    notes = [
        f" ({installed('trl')} has no {name} in {home})"
        for name, home in HOMES.items()
        if f"{name}=" in fix and name not in _arguments_of(home, name)
    ]
    return fix + "".join(notes)


def _arguments_of(home: str, name: str) -> set[str]:
    """The fields of a configuration of TRL; `name` itself where this run does not use TRL."""
    config: Any = None
    with suppress(Exception):  # TRL imports a trainer when it is asked for, which may fail
        config = getattr(sys.modules.get("trl"), home, None)
    return {name} if config is None else {field.name for field in fields(config)}
