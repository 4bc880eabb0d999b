"""New weights reach the engine, but its prefix cache keeps prompts as the old ones read them."""

from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.rl_runs import mean, values
from course_utils.incidents.runs import Variants

NUM_PROMPTS, NUM_STEPS = 24, 18  # four prompts a step: each of them comes three times
APART = "sampling/sampling_logp_difference/mean"


def _build(*, seed: int, clears: bool) -> Run:
    from course_utils.incidents.prefix_cache import CachingEngine
    from course_utils.incidents.two_engines import run_with

    return run_with(
        CachingEngine(clears=clears),
        seed,
        steps=NUM_STEPS,
        num_prompts=NUM_PROMPTS,
        learning_rate=2e-4,
    )


def shows(run: Run) -> bool:
    apart = values(run, APART)
    first = NUM_STEPS // 3
    return max(apart[:first]) < 1e-3 and mean(apart[first:]) > 0.02


INCIDENT = Incident(
    name="engine_keeps_its_prefix_cache",
    title="prefix cache kept over a weight sync",
    kind="stale_weights",
    says="The weights are synced before every rollout, and sampling_logp_difference grows all the "
    "same as soon as a prompt comes again.",
    cause="The engine keeps the keys and values of prompts over a weight sync, so a prompt that it "
    "has seen before is read with the weights of that time, and the reply with the new ones.",
    fix="Reset the engine's prefix cache after each weight sync.",
    threads=("prime-rl#1650", "NeMo-RL#4018", "lmdeploy#4917"),
    rebuilt="The engine is a second copy of the policy, and its cache holds whole prompts; "
    "vLLM's holds blocks of tokens.",
    make=Variants(_build, broken={"clears": False}, twin={"clears": True}),
    shows=shows,
    causes=("prefix_cache_kept",),
    place="prefix cache",
    lesson="09_two_logprobs",
)
