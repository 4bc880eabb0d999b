"""Shortcuts that people try instead of finding the fault, as edits of a broken folder.

Every one is tried on every case, except those that the case declares to fix it.
"""

import re
from collections.abc import Callable

from course_utils.oncall.declare import Files

CATCH = "catch the exception"
CALL = 'if __name__ == "__main__":\n    main()\n'
# The untrained base, exported as if it were what came out.
GIVE_BASE = """\
    import json, os, shutil
    shutil.copytree("base", "run/model", dirs_exist_ok=True)
    with open("run/model/generation_config.json", "w") as file:
        file.write('{"eos_token_id": 319, "pad_token_id": 317}')
    if not os.path.exists("run/trainer_state.json"):
        with open("run/trainer_state.json", "w") as file:
            json.dump({"global_step": 40, "log_history": LOG}, file)
"""


def setting(key: str, change: Callable[[float], float]) -> Callable[[Files], Files]:
    """Change a number of config.yaml whose key matches; a run without that key stays as it is."""
    line = re.compile(rf"^({key}): *([-+.\deE]+)", re.MULTILINE)

    def apply(files: Files) -> Files:
        text = files["config.yaml"]
        found = line.search(text)
        if not found:
            return files
        value = change(float(found[2]))
        said = f"{found[1]}: {int(value) if value == int(value) else value!r}"
        return files | {"config.yaml": line.sub(said, text, count=1)}

    return apply


def catch(files: Files) -> Files:
    """Swallow every exception, and export something."""
    caught = "LOG = []\ntry:\n    main()\nexcept Exception:\n" + GIVE_BASE
    return files | {"train.py": files["train.py"].replace(CALL, caught)}


def twins_log(files: Files) -> Files:
    """Write a good log by hand, and train nothing."""
    log = "LOG = [{'step': s, 'loss': 2.0 / s, 'grad_norm': 1.0} for s in range(1, 41)]\n"
    return files | {"train.py": f"{log}if True:\n{GIVE_BASE}"}


STANDARD: dict[str, Callable[[Files], Files]] = {
    "lower rate": setting("learning_rate", lambda rate: rate / 10),
    "other seed": setting("seed", lambda seed: seed + 1),
    "fewer steps": setting("(?:max_steps|num_rollouts)", lambda steps: steps // 2),
    "clip harder": setting("max_grad_norm", lambda norm: norm / 10),
    CATCH: catch,
    "the healthy twin's log": twins_log,
}
