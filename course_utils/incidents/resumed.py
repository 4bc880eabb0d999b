"""A Trainer that stops half-way, and another that resumes from its checkpoint."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from transformers import Trainer, TrainerCallback, set_seed

from course_utils.incidents.declare import Run
from course_utils.zoo import training

STEPS, STOP_AT = 12, 6


class StopHalfWay(TrainerCallback):
    """Saves and stops, as a job does whose time is up."""

    def on_step_end(self, args, state, control, **more) -> None:
        if state.global_step == STOP_AT:
            control.should_save = control.should_training_stop = True


def of_resumed(
    build: Callable[..., Trainer], facts: Callable[[Trainer], dict[str, float]], **settings: object
) -> Run:
    """The run of the second trainer; `build(folder, **settings)` makes both, alike."""
    folder = tempfile.mkdtemp(dir=training.quiet_config()["output_dir"])  # gone with the process
    first, second = (build(folder, **settings) for _ in range(2))
    first.add_callback(StopHalfWay())

    def start() -> None:
        for trainer, checkpoint in ((first, None), (second, Path(folder))):
            set_seed(trainer.args.seed)
            where = checkpoint and str(checkpoint / f"checkpoint-{STOP_AT}")
            trainer.train(resume_from_checkpoint=where)
        run.log = second.state.log_history

    run = Run(model=second.model, start=start, trainer=second, facts=lambda: facts(second))
    return run
