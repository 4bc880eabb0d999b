"""The std of the other replies, which all earned the same: 9e-5 of rounding instead of 0."""

import torch
from torch import Tensor

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import values
from course_utils.incidents.verl_runs import verl
from course_utils.reproductions.lesson_04.verl_grpo import VerlGrpo

FLOOR = 1e-3
ATTEMPT = 0.3  # what a wrong reply earns


def leave_one_out(scores_GN: Tensor, floor: float) -> Tensor:
    """Each score against the others of its group, in their standard deviations, (G, N).

    Numerics:
        square - mean^2 of seven times 0.3 is 7e-9 in float32 and not 0. Where the std is at most
        `floor`, nothing is divided by it.
    """
    k = scores_GN.shape[1] - 1
    others = 1 - torch.eye(k + 1)
    mean, square = scores_GN @ others / k, scores_GN.square() @ others / k
    std = ((square - mean.square()) * k / (k - 1)).clamp(min=0).sqrt()
    return (scores_GN - mean) / torch.where(std > floor, std + 1e-6, 1.0)


class LeaveOneOut(VerlGrpo):
    """verl's loop with NeMo-RL's advantage."""

    floor = 0.0

    @torch.no_grad()
    def prepare(self, batch) -> None:
        batch.scores = batch.scores.clamp(min=ATTEMPT)
        super().prepare(batch)
        advantage = leave_one_out(batch.scores.view(-1, self.settings.n), self.floor)
        batch.advantages = advantage.view(-1, 1) * batch.response_mask

    def describe(self, batch) -> dict:
        spread = {"critic/advantages/max": batch.advantages.max().item()}
        return (
            super().describe(batch)
            | spread
            | {"critic/advantages/min": batch.advantages.min().item()}
        )


class Floored(LeaveOneOut):
    floor = FLOOR


def make(variant: Variant, seed: int) -> Run:
    return verl(seed, steps=4, loop_class=LeaveOneOut if variant == "broken" else Floored)


def shows(run: Run) -> bool:
    return max(values(run, "critic/advantages/max")) > 100


INCIDENT = Incident(
    name="leave_one_out_std",
    title="advantage divided by a std of rounding error",
    kind="tiny_std",
    says="In one step advantages/max is 7428, the loss -26 and grad_norm 35.",
    cause="One reply was right and the seven others earned the same; their std should be 0 but "
    "is rounding error, and the advantage is divided by it.",
    fix="Do not divide where the std is below 1e-3.",
    threads=("NeMo-RL#4161", "NeMo-RL#4158", "NeMo-RL#1518"),
    rebuilt="NeMo-RL's formula in verl's loop, on sums.",
    make=make,
    shows=shows,
    causes=("tiny_std",),
    place="critic/advantages/max",
    lesson="10_reward_up",
)
