"""GRPO's mean of means: a wrong reply costs less per token the longer it is, so it grows."""

from transformers import set_seed

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import mean
from course_utils.incidents.tail_loop import TailLoop

STEPS = 80


def make(variant: Variant, seed: int) -> Run:
    set_seed(seed)
    loop = TailLoop("grpo" if variant == "broken" else "dr_grpo", seed)
    parts = {"optimizer": loop.optimizer, "batch": loop.rollout(), "loss": loop.loss}
    run = Run(model=loop.model, start=lambda: None, parts=parts)
    run.start = lambda: run.log.extend({"step": n} | loop.step() for n in range(1, STEPS + 1))
    run.facts = lambda: {"gap": gap(run)}
    return run


def gap(run: Run) -> float:
    """How much longer wrong replies are than right ones in the last twenty steps, in tokens."""
    last = run.log[-20:]
    return mean(e["response_length/wrong"] - e["response_length/right"] for e in last)


def shows(run: Run) -> bool:
    return gap(run) > 12


INCIDENT = Incident(
    name="length_in_the_mean",
    title="per-reply mean favours long wrong replies",
    kind="length_bias",
    says="The completions grow over the run, mostly the wrong ones.",
    cause="Each reply's loss is divided by its own length: a long wrong reply is punished less "
    "per token than a short one, and a short right one is rewarded more.",
    fix="Use a normaliser that does not depend on the reply's length (loss_type='dr_grpo').",
    threads=("trl#3138", "trl#3256", "understand-r1-zero#10"),
    rebuilt="A loop of its own on one layer that is told whether its answer is right; TRL's "
    "default is another normaliser today.",
    make=make,
    shows=shows,
    causes=("length_into_limit",),
    place="response_length",
    lesson="08_batch_loss",
)
