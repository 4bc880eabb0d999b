"""A DPO run of two processes whose second rank gets a completion without a token in step 2.

Each process calls `main`; the run is watched, and goes on after the fault.
"""

import json
import os
from pathlib import Path

from accelerate.state import AcceleratorState, PartialState
from faults.trainers import dpo_trainer
from trl import DPOTrainer

from course_utils.diagnostics import diagnose
from course_utils.diagnostics.ranks import watch_ranks

BAD_RANK, BAD_STEP, BAD_ROW = 1, 2, 1


class LengthTrainer(DPOTrainer):
    """Adds somebody's own term, a mean over the tokens of each completion."""

    def _prepare_inputs(self, inputs):
        inputs = super()._prepare_inputs(inputs)
        if (self.args.process_index, self.state.global_step + 1) == (BAD_RANK, BAD_STEP):
            inputs["completion_mask"][BAD_ROW] = 0  # as a filter of somebody's data set may do
        return inputs

    def compute_loss(self, model, inputs, *args, **kwargs):
        return super().compute_loss(model, inputs, *args, **kwargs) + self._length_term(inputs)

    def _length_term(self, inputs):
        mask = inputs["completion_mask"].float()
        per_token = self.model.lm_head.weight.sum() * mask * 1e-6
        return (per_token.sum(1) / mask.sum(1)).mean()


def build():
    trainer = dpo_trainer(max_steps=3, gradient_accumulation_steps=1, dataloader_num_workers=0)
    trainer.__class__ = LengthTrainer
    return trainer


def build_one_of_two():
    for state in (AcceleratorState, PartialState):
        state._reset_state()  # a forked process has that of its parent, which was alone
    return build()


def diagnosed(folder: Path) -> None:
    """The same run under `diagnose`; each rank writes down what it says."""
    trainer = build_one_of_two()
    os.chdir(folder)
    with diagnose.watching(trainer) as run:
        trainer.train()
    path = folder / f"diagnosis{trainer.args.process_index}.json"
    path.write_text(json.dumps(run.report.to_dict() | {"text": str(run.report)}))


def main(folder: Path) -> None:
    trainer = build_one_of_two()
    with watch_ranks(trainer, folder=folder, then=lambda report: None):
        trainer.train()
