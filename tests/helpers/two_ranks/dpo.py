"""A DPO run of two processes whose second rank gets a completion without a token in step 2.

Each process calls `main`; the run is watched, and goes on after the fault.
"""

from pathlib import Path

from accelerate.state import AcceleratorState, PartialState
from faults.trainers import dpo_trainer
from trl import DPOTrainer

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


def main(folder: Path) -> None:
    for state in (AcceleratorState, PartialState):
        state._reset_state()  # a forked process has that of its parent, which was alone
    trainer = build()
    with watch_ranks(trainer, folder=folder, then=lambda report: None):
        trainer.train()
