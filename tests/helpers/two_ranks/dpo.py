"""A real DPO run of two processes whose second rank gets a completion without a token in step 2.

torchrun --nproc-per-node 2 dpo.py FOLDER          watches, and goes on after the fault
accelerate launch --num_processes 2 dpo.py FOLDER  likewise
"""

import sys
from pathlib import Path

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

import torch  # noqa: E402
from trl import DPOTrainer  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1]))

from faults.trainers import dpo_trainer  # noqa: E402

from course_utils.diagnostics.ranks import watch_ranks  # noqa: E402

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


if __name__ == "__main__":
    torch.set_num_threads(1)
    trainer = build()
    with watch_ranks(trainer, folder=sys.argv[1], then=lambda report: None):
        trainer.train()
    print("steps", trainer.state.global_step, flush=True)
