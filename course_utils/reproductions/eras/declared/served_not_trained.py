"""LoRA with the seven usual names on a mixture of experts, then and now."""

from course_utils.reproductions.eras.declare import Change, Era, Row, Sign
from course_utils.reproductions.eras.declared.common import RENAMED

SERVED_NOT_TRAINED = Era(
    stem="11_served_not_trained",
    thread="unsloth#6936",
    packages=("transformers", "peft"),
    model={"name": "tiny-qwen2"},
    deviations=(
        Change("the reporter's mixture", "NUM_EXPERTS", "the tiny Qwen2, each MLP four times"),
        Change("the reporter's data", "translate(CODE)", "sums in a code, work for the MLP"),
        Change("a Trainer", "AdamW", "a plain loop: what LoRA reaches is decided before it"),
        Change("a whole run", "NUM_STEPS", "enough to learn most of the code"),
    ),
    changes=(RENAMED,),
    symptoms=(
        Sign(
            "the seven names reach the experts",
            lambda facts: (
                f"{facts['on experts']} adapters on experts, {facts['elsewhere']} elsewhere"
            ),
            lambda facts: facts["on experts"] > 0,
            today=False,
        ),
        Sign(
            "the mixture learns its task",
            lambda facts: f"{facts['right']:.0%} right, last loss {facts['loss']:.2f}",
            lambda facts: facts["right"] > 0.4,
            today=False,
        ),
    ),
    row=Row(
        failure="LoRA on a mixture of experts: the loss falls, and it learns little",
        then="each expert is a layer: the seven names reach all of them, and the task is learned",
        now="experts are one stacked parameter: the same config reaches none, and nothing warns",
        protects="PEFT rewrites the names for some model types (qwen3_moe, deepseek_v3; not "
        "qwen2_moe)",
        dangerous="nobody reads which tensors have an adapter; where PEFT rewrites the names, "
        "dense layers and shared experts lose theirs",
    ),
)
