"""verl 0.2's k3, exp before clamp: a finite loss, a nan gradient, then only exclamation marks."""

import torch

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.verl_runs import verl


def bounded_kl(logprob, ref_logprob, kind):
    """k3 with a bound before exp, with the arguments that the loop gives."""
    d = (ref_logprob - logprob).clamp(-8, 8)
    return torch.exp(d) - d - 1


def make(variant: Variant, seed: int) -> Run:
    changes = {
        "broken": {"logits_dtype": "float16"},
        "twin": {"logits_dtype": "float32"},
        "mended": {"logits_dtype": "float16", "kl_penalty": bounded_kl},
    }[variant]
    return verl(seed, steps=7, learning_rate=3e-4, response_length=16, **changes)


def shows(run: Run) -> bool:
    return run.facts()["truth"] == 0.0


INCIDENT = Incident(
    name="exp_before_clamp",
    title="exp before clamp in the KL",
    kind="collapse",
    says="The outputs become '!!!!!!!!', and kl_loss, entropy_loss and grad_norm are nan.",
    cause="exp of the log-ratio overflows in float16 and is clamped afterwards: the loss stays "
    "finite, its gradient is 0 x inf = nan, and the step is taken anyway.",
    fix="Bound the log-ratio before exp.",
    threads=("verl#721", "verl#747", "verl#751"),
    rebuilt="The loop of verl 0.2.0.post2 on a CPU; later versions bound the ratio.",
    make=make,
    shows=shows,
    causes=("nan_gradient", "nan_weights"),
    place="kl_loss",
    lesson="04_verl_collapse",
)
