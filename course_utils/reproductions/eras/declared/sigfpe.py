"""GRPO dies with "Floating point exception": which runs multiply in bf16, then and now."""

from course_utils.reproductions.eras.declare import Change, Era, Row, Sign
from course_utils.reproductions.eras.declared.common import ON_CPU, QUIET, TINY_MODEL


def _bf16(run: str):
    return lambda facts: facts[run]["products"].get("bfloat16", 0)


def _num_bf16(run: str):
    def shows(facts: dict) -> str:
        return f"{_bf16(run)(facts)} of {sum(facts[run]['products'].values())} matrix products"

    return shows


SIGFPE = Era(
    stem="02_grpo_sigfpe",
    thread="trl#2906",
    packages=("trl", "transformers", "accelerate"),
    model={"name": "tiny-qwen2"},
    deviations=(
        TINY_MODEL,
        ON_CPU,
        Change("an H20 and cuBLAS 12.1", "CountProducts", "the death needs both; bf16 does not"),
        Change("the whole data set", "max_steps=1", "one step has every kind of product"),
        Change("the reporter's data", "{n}+{n + 3}+{n + 9}=", "sums, which the tiny model knows"),
        QUIET,
    ),
    changes=(
        Change("warmup_ratio=0.1", "warmup_steps=0.1", "gone; a value below 1 is a share now"),
        Change("        max_prompt_length=256,\n", "", "gone; prompts are no longer cut"),
        Change(
            "per_device_train_batch_size=1,",
            "per_device_train_batch_size=16,",
            "counts replies now, not prompts: 1 x 16 generations",
        ),
    ),
    symptoms=(
        Sign(
            "the long configuration multiplies in bf16",
            _num_bf16("long"),
            lambda facts: _bf16("long")(facts) > 0,
            today=True,
        ),
        Sign(
            "the short one does not, so it lives",
            _num_bf16("short"),
            lambda facts: _bf16("short")(facts) == 0,
            today=False,
        ),
        Sign(
            "nor does the long one with bf16=False",
            _num_bf16("long, bf16=False"),
            lambda facts: _bf16("long, bf16=False")(facts) == 0,
            today=True,
        ),
    ),
    row=Row(
        failure="GRPO: Floating point exception",
        then="the long configuration multiplies in bf16, the short one never (the death itself "
        "needs an H20 with cuBLAS 12.1)",
        now="both multiply in bf16",
        protects="cuBLAS 12.4.5.8 (reported to work), which torch 2.5.1 pins; nothing in TRL",
        dangerous="an H20 finds cuBLAS 12.1.3.1: bf16=True is the default now, so the short one "
        "multiplies in bf16 too",
    ),
)
