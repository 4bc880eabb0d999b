"""The engine's log-probs begin one token too early: each belongs to its neighbour."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import mean, values


def make(variant: Variant, seed: int) -> Run:
    from course_utils.incidents.two_engines import Engine, run_with

    engine = Engine()

    def sample(trainer, prompt_ids):
        ids, logps = engine(trainer, prompt_ids)
        if variant == "broken":  # the first is of the token before the reply
            logps = [[0.0, *row][: len(row)] for row in logps]
        return ids, logps

    return run_with(engine, seed, sample=sample, steps=4)


def shows(run: Run) -> bool:
    return mean(values(run, "sampling/sampling_logp_difference/mean")) > 0.05


INCIDENT = Incident(
    name="logps_one_longer",
    kind="logp_mismatch",
    says="The kl between inference and training spikes to 60 now and then, with the same weights.",
    cause="The stored log-probs are one longer than the ids of the reply, and are compared from "
    "the first on: every token is held against its neighbour's number.",
    fix="Ask the engine for the token ids, and align log-probs by them.",
    threads=("eval-protocol#457",),
    rebuilt="The engine is a second copy of the policy instead of vLLM, which needs a GPU.",
    make=make,
    shows=shows,
    causes=("engines_disagree",),
    place="sampling/sampling_logp_difference/max",
    lesson="09_two_logprobs",
)
