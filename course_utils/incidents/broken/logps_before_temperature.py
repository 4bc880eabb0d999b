"""An engine that reports log-probs before the temperature, and a trainer that scores after it."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import mean, values

TEMPERATURE = 0.6


def make(variant: Variant, seed: int) -> Run:
    from course_utils.incidents.two_engines import engine_with, run_with

    engine = engine_with(temperature=TEMPERATURE, processed=variant != "broken")
    return run_with(engine, seed, steps=4, temperature=TEMPERATURE)


def shows(run: Run) -> bool:
    return mean(values(run, "sampling/sampling_logp_difference/mean")) > 0.01


INCIDENT = Incident(
    name="logps_before_temperature",
    title="engine log-probs without the temperature",
    kind="logp_mismatch",
    says="At temperature 0.6 the importance ratio of the first tokens is 2.0 in the very first "
    "step; at temperature 1 it is about 1.",
    cause="The engine reports log-probs of its raw logits, but the trainer divides its logits by "
    "the temperature: they score two distributions, and the importance correction distorts what "
    "was right.",
    fix="Let the engine report processed log-probs (vLLM's logprobs_mode='processed_logprobs').",
    threads=("trl#4159", "prime-rl#697"),
    rebuilt="The engine is a second copy of the policy instead of vLLM, which needs a GPU.",
    make=make,
    shows=shows,
    causes=("engines_disagree",),
    place="sampling/sampling_logp_difference/mean",
    lesson="09_two_logprobs",
)
