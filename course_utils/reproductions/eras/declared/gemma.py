"""Gemma 3 in fp16, with the oldest libraries that have it, and today."""

import math

from course_utils.reproductions.eras.declare import Change, Era, Row, Sign
from course_utils.reproductions.eras.declared.common import QUIET, RENAMED, finite, listed

GEMMA = Era(
    stem="05_gemma_fp16",
    thread="trl#3236",
    packages=("trl", "transformers", "peft", "accelerate"),
    model={"name": "tiny-gemma3", "stretch": 2**15},
    deviations=(
        Change("gemma-3-12b-it", "MODEL", "a tiny Gemma 3, its residual stream times 2**15"),
        Change("a GPU", "native_amp = True", "fp16 on a CPU, where the Trainer ignores fp16=True"),
        Change("LoRA's default", 'target_modules=["q_proj", "v_proj"]', "peft 0.15 has none here"),
        Change("the reporter's data", '"chosen": [str(2 * n + 3)', "pairs of sums"),
        Change("the reporter's lr", "learning_rate=1e-3", "so that float32 moves in three steps"),
        Change("the whole data set", "max_steps=3", "it is dead in the first"),
        QUIET,
    ),
    changes=(RENAMED,),
    symptoms=(
        Sign(
            "fp16=True logs loss 0",
            lambda facts: listed(facts["fp16=True"]["losses"]),
            lambda facts: not any(facts["fp16=True"]["losses"]),
            today=True,
        ),
        Sign(
            "and reward nan",
            lambda facts: listed(facts["fp16=True"]["rewards"]),
            lambda facts: all(map(math.isnan, facts["fp16=True"]["rewards"])),
            today=True,
        ),
        Sign(
            "and trains nothing",
            lambda facts: "{moved} of 8 adapters, scale {scale:g}".format(**facts["fp16=True"]),
            lambda facts: facts["fp16=True"]["moved"] == 0,
            today=True,
        ),
        Sign(
            "float32 trains",
            lambda facts: f"loss {listed(facts['float32']['losses'])}",
            lambda facts: _learns(facts["float32"]),
            today=True,
        ),
        Sign(
            "bf16=True trains",
            lambda facts: f"loss {listed(facts['bf16=True']['losses'])}",
            lambda facts: _learns(facts["bf16=True"]),
            today=True,
        ),
    ),
    row=Row(
        failure="Gemma 3 in fp16: loss 0, reward nan",
        then="loss 0, reward nan, grad_norm nan (the report's 0 is open); bf16 and float32 train",
        now="the same",
        protects="bf16=True by default (trl 1.16); nothing for fp16: transformers#36832 was "
        "closed, transformers#37226 is open",
        dangerous="the device has no bf16: fp16=True is accepted without a warning",
    ),
)


def _learns(run: dict) -> bool:
    logged = [*run["losses"], *run["grad_norms"], *run["rewards"]]
    return finite(logged) and run["moved"] == 8
