"""Logs of GRPO that were misread, then and now."""

from course_utils.reproductions.eras.declare import Change, Era, Row, Sign
from course_utils.reproductions.eras.declared.common import QUIET, RENAMED

HEALTHY, DEAD = "healthy", "paid by the prompt"


def _shows(run: str, *columns: str):
    return lambda facts: ", ".join(f"{c} {facts[run][c]:.2g}" for c in columns)


REWARD_UP = Era(
    stem="10_reward_up",
    thread="trl#3452, trl#3857",
    packages=("trl", "transformers", "accelerate"),
    model={"name": "tiny-qwen2"},
    deviations=(
        Change("the reporters' models", "MODEL", "the course's tiny Qwen2"),
        Change("the reporters' data", "{n}+{n + 3}+{n + 9}=", "sums, which the tiny model knows"),
        Change("the reporters' rewards", "def by_prompt", "one decided by the prompt alone"),
        Change("a GPU", "use_cpu=True", "no GPU needed"),
        Change("whole runs", "max_steps=1", "what is misread stands in the first line"),
        QUIET,
    ),
    changes=(RENAMED,),
    symptoms=(
        Sign(
            "a healthy step logs loss 0",
            _shows(HEALTHY, "loss", "grad_norm"),
            lambda facts: abs(facts[HEALTHY]["loss"]) < 1e-5 and facts[HEALTHY]["grad_norm"] > 0.1,
            today=False,
        ),
        Sign(
            "a dead step logs reward_std 0",
            _shows(DEAD, "reward_std", "grad_norm"),
            lambda facts: facts[DEAD]["reward_std"] < 1e-5 and facts[DEAD]["grad_norm"] < 1e-5,
            today=False,
        ),
    ),
    row=Row(
        failure="GRPO: the reward goes up and nothing gets better",
        then="a healthy step logs loss 0; a step whose groups are dead logs reward_std 0",
        now="the healthy loss is not 0; reward_std is the batch's, and not 0 in the dead step",
        protects="grad_norm, which is 0 in the dead step alone; nothing looks at a verifier",
        dangerous="the reward is cheated, constant, or None: every logged number is finite",
    ),
)
