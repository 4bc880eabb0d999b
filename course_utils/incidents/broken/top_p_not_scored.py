"""Replies sampled from a nucleus, scored over the whole vocabulary: every ratio is below 1."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import mean, values


def make(variant: Variant, seed: int) -> Run:
    from course_utils.incidents.two_engines import engine_with, run_with

    engine = engine_with(top_p=0.8 if variant == "broken" else 1.0)
    return run_with(engine, seed, steps=4)


def shows(run: Run) -> bool:
    largest = max(values(run, "sampling/importance_sampling_ratio/max"))
    return largest < 1.001 and mean(values(run, "sampling/importance_sampling_ratio/mean")) < 0.97


INCIDENT = Incident(
    name="top_p_not_scored",
    title="top_p not applied when scoring",
    kind="logp_mismatch",
    says="The importance ratio is about 0.9 on average and never above 1, with the same weights on "
    "both sides.",
    cause="The engine samples from the top_p nucleus and renormalises over it; the trainer "
    "scores over all tokens, so each ratio is the probability mass of the nucleus.",
    fix="Sample with top_p=1.",
    threads=("trl#6789", "ms-swift#8442"),
    rebuilt="The engine is a second copy of the policy instead of vLLM, which needs a GPU.",
    make=make,
    shows=shows,
    causes=("engines_disagree",),
    place="sampling/importance_sampling_ratio/mean",
    lesson="09_two_logprobs",
)
