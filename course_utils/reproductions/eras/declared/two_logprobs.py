"""A trainer that scored at another temperature than it sampled, then and now."""

from course_utils.reproductions.eras.declare import Change, Era, Row, Sign
from course_utils.reproductions.eras.declared.common import QUIET, RENAMED


def _far_and_near(facts: dict) -> str:
    off = facts["off"]
    return f"{off['1.0']:.2g} nats from temperature 1, {off['0.6']:.2g} from 0.6"


TWO_LOGPROBS = Era(
    stem="09_two_logprobs",
    thread="trl#4159",
    packages=("trl", "transformers", "accelerate"),
    model={"name": "tiny-qwen2"},
    deviations=(
        Change("SmolLM-135M", "MODEL", "the course's tiny Qwen2"),
        Change("colocated vLLM", "setattr(GRPOTrainer", "needs a GPU; the trainer's side is read"),
        Change("the reporter's data", "{n}+{n + 3}+{n + 9}=", "sums, which the tiny model knows"),
        Change("a GPU", "use_cpu=True", "no GPU needed"),
        Change("a whole run", "max_steps=1", "the first step shows it"),
        QUIET,
    ),
    changes=(RENAMED,),
    symptoms=(
        Sign(
            "sampled at 0.6, scored at 1",
            _far_and_near,
            lambda facts: facts["off"]["1.0"] < 1e-4 < 1e-3 < facts["off"]["0.6"],
            today=False,
        ),
    ),
    row=Row(
        failure="GRPO: the ratio of trainer to sampler is not 1",
        then="replies sampled at temperature 0.6 are scored at 1",
        now="they are scored at 0.6",
        protects="logits divided by the temperature; with vLLM its log-probs, and a correction",
        dangerous="top_p, top_k or a repetition penalty with generate(): applied, never scored",
    ),
)
