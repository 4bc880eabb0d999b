"""kl_loss_coef is set but use_kl_loss is not, so another coefficient counts."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.verl_runs import PaidForSilence, kl_to_reference, verl


def make(variant: Variant, seed: int) -> Run:
    return verl(
        seed,
        steps=12,
        loop_class=PaidForSilence,
        ppo_mini_batch_size=32,
        kl_loss_coef=5.0,
        use_kl_loss=variant != "broken",
        facts=kl_to_reference,
    )


def shows(run: Run) -> bool:
    return run.facts()["kl"] > 0.3


INCIDENT = Incident(
    name="coefficient_of_another_kl",
    title="KL coefficient set but unused",
    kind="kl_place",
    says="kl_loss_coef is 5.0, and changing it makes no difference.",
    cause="use_kl_loss is False, so the KL is part of the reward with algorithm.kl_ctrl.kl_coef, "
    "0.001, and kl_loss_coef is never read.",
    fix="Set use_kl_loss=True.",
    threads=("verl#455", "verl#750", "verl#265"),
    rebuilt="verl's loop, with the two places of verl 0.2.",
    make=make,
    shows=shows,
    causes=("kl_runs",),
    place="use_kl_loss",
    lesson="04_verl_collapse",
)
