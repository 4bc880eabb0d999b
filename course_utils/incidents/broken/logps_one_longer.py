"""The engine's log-probs begin one token too early, so each belongs to its neighbour."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import mean, values


def make(variant: Variant, seed: int) -> Run:
    from course_utils.incidents.two_engines import engine_with, run_with, served_by

    engine = engine_with()
    served = served_by(engine)

    def sample(trainer, prompt_ids):
        ids, logps = served(trainer, prompt_ids)
        if variant == "broken":  # the first is of the token before the reply
            logps = [[0.0, *row][: len(row)] for row in logps]
        return ids, logps

    return run_with(engine, seed, sample=sample, steps=4)


def shows(run: Run) -> bool:
    return mean(values(run, "sampling/sampling_logp_difference/mean")) > 0.05


INCIDENT = Incident(
    name="logps_one_longer",
    title="log-probs shifted by one token",
    kind="logp_mismatch",
    says="The KL between inference and training spikes to 60 now and then, with the same weights.",
    cause="The stored log-probs are one longer than the reply's ids and are compared from the "
    "first on, so every token is compared with its neighbour's value.",
    fix="Ask the engine for the token ids, and align the log-probs by them.",
    threads=("eval-protocol#457",),
    rebuilt="The engine is a second copy of the policy instead of vLLM, which needs a GPU.",
    make=make,
    shows=shows,
    causes=("engines_disagree",),
    place="sampling/sampling_logp_difference/max",
    lesson="09_two_logprobs",
)
