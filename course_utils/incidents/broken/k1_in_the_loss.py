"""The KL penalty in the loss with the k1 estimator, whose expected gradient is 0."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.verl_runs import PaidForSilence, kl_to_reference, verl


def make(variant: Variant, seed: int) -> Run:
    return verl(
        seed,
        steps=12,
        loop_class=PaidForSilence,
        ppo_mini_batch_size=32,
        kl_loss_coef=5.0,
        kl_loss_type="kl" if variant == "broken" else "mse",
        facts=kl_to_reference,
    )


def shows(run: Run) -> bool:
    return run.facts()["kl"] > 0.12


INCIDENT = Incident(
    name="k1_in_the_loss",
    title="KL penalty with zero expected gradient",
    kind="kl_place",
    says="The KL loss is on and its coefficient is large, but the policy moves away from the "
    "reference as if it were off.",
    cause="The loss contains log p - log p_ref of tokens that the policy itself sampled; its "
    "value estimates the KL, but its expected gradient is 0, so it holds nothing back.",
    fix="Use an estimator whose gradient is that of the KL: kl_loss_type='mse' (k2).",
    threads=("trl#4967", "trl#4638"),
    rebuilt="verl's loop, with the estimators of verl 0.2.",
    make=make,
    shows=shows,
    causes=("kl_runs",),
    place="kl_loss_type",
    lesson="04_verl_collapse",
)
