"""The KL penalty in the loss is computed under no_grad: a number in the log, and no pull."""

import torch
from torch import Tensor, nn

from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants
from course_utils.incidents.verl_runs import SETTINGS, PaidForSilence, kl_to_reference, verl
from course_utils.reproductions.lesson_04.verl_formulas import kl_penalty
from course_utils.reproductions.lesson_04.verl_rollout import Batch

NUM_STEPS = 12
DRIFTED = 0.3  # nats at the first token of a reply


def _build(*, seed: int, is_attached: bool) -> Run:
    known = dict(
        seed=seed,
        ppo_mini_batch_size=32,
        kl_loss_coef=5.0,
        kl_loss_type="mse",
        kl_penalty=kl_penalty if is_attached else torch.no_grad()(kl_penalty),
    )
    shown = PaidForSilence(**SETTINGS | known)  # whose first rollout is that of the run
    rollout = shown.rollout()
    shown.prepare(rollout)

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        shown.actor = model
        return shown.loss(Batch(**batch))["loss"]

    run = verl(steps=NUM_STEPS, loop_class=PaidForSilence, facts=kl_to_reference, **known)
    run.parts |= {"batch": vars(rollout), "loss": loss}
    return run


INCIDENT = Incident(
    name="kl_under_no_grad",
    title="KL penalty without a gradient",
    kind="kl_place",
    says="The KL loss is in the log and its coefficient is large, but it only grows: the policy "
    "moves away from the reference as if there were no penalty.",
    cause="The log-probs of the KL term are computed under no_grad, so the term adds a number to "
    "the loss and nothing to its gradient.",
    fix="Compute the KL term from the log-probs that carry the graph; only the reference's are "
    "under no_grad.",
    threads=("open-instruct#530", "SkyRL#1353"),
    rebuilt="verl's loop, with its k2 term under torch.no_grad().",
    make=Variants(_build, broken={"is_attached": False}, twin={"is_attached": True}),
    shows=lambda run: run.facts()["kl"] > DRIFTED,
    causes=("kl_runs",),
    place="the KL term",
    lesson="04_verl_collapse",
)
