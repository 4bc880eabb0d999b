"""New weights are sent but no request uses them: the sampler stays the base model."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import mean, values


def make(variant: Variant, seed: int) -> Run:
    from course_utils.incidents.two_engines import engine_with, run_with

    return run_with(engine_with(), seed, synced=variant != "broken", steps=6)


def shows(run: Run) -> bool:
    apart = values(run, "sampling/sampling_logp_difference/mean")
    return apart[0] < 1e-3 and mean(apart[-3:]) > 0.02


INCIDENT = Incident(
    name="adapter_never_served",
    title="trained weights never reach the sampler",
    kind="stale_weights",
    says="The reward is flat and noisy with the engine, but rises with the native generate.",
    cause="The trained weights never reach the sampler: it keeps answering with the weights of "
    "the first step, and drifts away from the trainer with every update.",
    fix="Copy the weights before each rollout, and name the adapter in each request.",
    threads=("ms-swift#9855", "verl#7495", "verl#3821"),
    rebuilt="The engine is a second copy of the policy that is not updated.",
    make=make,
    shows=shows,
    causes=("engines_disagree",),
    place="sampler",
    lesson="09_two_logprobs",
)
