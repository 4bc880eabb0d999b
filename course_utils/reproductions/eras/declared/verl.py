"""The policy that says "!!!!", in verl before and after its fixes."""

import math

from course_utils.reproductions.eras.declare import Change, Era, Row, Sign
from course_utils.reproductions.eras.declared.common import finite


def _run(facts: dict) -> dict:
    return facts["run"]


VERL = Era(
    stem="04_verl_collapse",
    thread="verl#721, verl#747, verl#751",
    packages=("verl", "transformers"),
    model={"name": "tiny-qwen2"},
    now_lock="04_verl_collapse_now",
    deviations=(
        Change("R1-Distill-Qwen-1.5B", "MODEL", "the course's tiny Qwen2"),
        Change("import verl", "StubFinder", "stubs for ray, tensordict and others: never called"),
        Change("vLLM", "def sample(", "its sampler, exponential noise and argmax, in three lines"),
        Change("dp_actor.update_policy under Ray", "optimizer.step()", "its loop, one process"),
        Change("GSM8K", "rng.randint(0, 99)", "sums of three numbers"),
        Change("bf16 log-probs", "logits.half()", "float16 is left at 11 nats, not 88: sooner"),
        Change("lr 1e-6, hundreds of steps", "lr=1e-4", "up to 13 rollouts, up to 3 seeds"),
    ),
    changes=(
        Change(
            "            optimizer.step()",
            "            if grad_norm.isfinite():\n                optimizer.step()",
            "the loop looks at the norm now (verl#789)",
        ),
    ),
    symptoms=(
        Sign(
            "k3 in float32 at 100 nats: finite value, nan gradient",
            lambda facts: "value {:.3g}, gradient {:.3g}".format(*facts["float32, 100 nats"]),
            lambda facts: _k3_trap(facts["float32, 100 nats"]),
            today=False,
        ),
        Sign(
            "k3 in float16 at 12 nats: the same",
            lambda facts: "value {:.3g}, gradient {:.3g}".format(*facts["float16, 12 nats"]),
            lambda facts: _k3_trap(facts["float16, 12 nats"]),
            today=True,
        ),
        Sign(
            "a nan under the mask is in the mean",
            lambda facts: f"{facts['nan under the mask']:.3g}",
            lambda facts: math.isnan(facts["nan under the mask"]),
            today=False,
        ),
        Sign(
            "in the run, a finite loss with a nan gradient",
            lambda facts: _first_bad(_run(facts)["first_bad"]),
            lambda facts: bool(_run(facts)["first_bad"]) and finite(_run(facts)["first_bad"][1:2]),
            today=True,
        ),
        Sign(
            "the weights die of it",
            lambda facts: "dead" if _run(facts)["dead"] else "alive",
            lambda facts: _run(facts)["dead"],
            today=False,
        ),
        Sign(
            'the next replies are only "!"',
            lambda facts: "{exclamations} of {replies}, {reply!r}".format(**_run(facts)),
            lambda facts: _run(facts)["exclamations"] == _run(facts)["replies"],
            today=False,
        ),
    ),
    row=Row(
        failure="verl GRPO: the replies become !!!!",
        then="k3 at 100 nats: value 10, gradient nan; a short run ends in !!!!",
        now="gradient 0; the run lives",
        protects="clamp before exp (verl#1779, 0.4.1), where in the masked mean (verl#2377), no "
        "step on a norm that is not finite (verl#789, 0.4.0)",
        dangerous="log-probs are float16: the clamp at 20 is above its 11.09, and steps are "
        "skipped; or TRL with beta > 0, which has no clamp",
    ),
)


def _k3_trap(value_and_gradient: list[float]) -> bool:
    value, gradient = value_and_gradient
    return math.isfinite(value) and math.isnan(gradient)


def _first_bad(first_bad: list | None) -> str:
    if first_bad is None:
        return "never"
    step, loss, grad_norm = first_bad
    return f"rollout {step}: loss {loss:.3g}, grad_norm {grad_norm:.3g}"
