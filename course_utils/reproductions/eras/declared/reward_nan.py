"""The LoRA reward model that logs 1.19e34, then 0, then and now."""

import math

from course_utils.reproductions.eras.declare import Change, Era, Row, Sign
from course_utils.reproductions.eras.declared.common import listed

REWARD_NAN = Era(
    stem="03_reward_nan",
    thread="trl#2367",
    packages=("trl", "transformers", "peft", "accelerate"),
    model={"name": "tiny-qwen2", "layers": 1},
    deviations=(
        Change("Qwen2.5-Math-1.5B-Instruct", "MODEL", "one layer of the course's tiny Qwen2"),
        Change("a GPU", "--use_cpu True", "no GPU needed"),
        Change("--torch_dtype half", "--torch_dtype float16", "two names of one format"),
        Change("UltraFeedback", "ask + right", "pairs of sums, as bare text"),
        Change("3 epochs", "--max_steps 27", "one window of 25 steps, and two steps of the next"),
        Change("a log line every 25 steps", "LogLastStep", "and one at the end"),
        Change("the reporter's logs", "--disable_tqdm True", "prints less, computes the same"),
    ),
    changes=(
        Change(
            "torch_dtype=getattr(torch, model_config.torch_dtype)",
            "dtype=getattr(torch, model_config.dtype)",
            "renamed in transformers 5 and trl 1",
        ),
        Change("--torch_dtype", "--dtype", "renamed in trl 1"),
    ),
    symptoms=(
        Sign(
            "the first logged loss is near 1.19e34",
            lambda facts: listed(facts["as reported"]["losses"][:1]),
            lambda facts: 1e34 < facts["as reported"]["losses"][0] < 1.4e34,
            today=False,
        ),
        Sign(
            "then loss 0",
            lambda facts: listed(facts["as reported"]["losses"][1:]),
            lambda facts: facts["as reported"]["losses"][1:] == [0.0],
            today=False,
        ),
        Sign(
            "grad_norm is nan",
            lambda facts: listed(facts["as reported"]["grad_norms"]),
            lambda facts: all(map(math.isnan, facts["as reported"]["grad_norms"])),
            today=False,
        ),
        Sign(
            "the score head is dead",
            lambda facts: "{dead} of {weights} weights".format(**facts["as reported"]),
            lambda facts: facts["as reported"]["dead"] == facts["as reported"]["weights"],
            today=False,
        ),
        Sign(
            "so it is with optim=adamw_torch",
            lambda facts: f"grad_norm {listed(facts['adamw_torch']['grad_norms'])}",
            lambda facts: facts["adamw_torch"]["dead"] > 0,
            today=True,
        ),
    ),
    row=Row(
        failure="LoRA reward model: loss 1.19e+34, then 0, grad_norm nan",
        then="loss 1.21e+34, then 0; grad_norm nan; the score head dead",
        now="trains; with optim=adamw_torch dead as before",
        protects="adamw_torch_fused by default (transformers#37358, with torch 2.8 and later), "
        "whose kernel computes in float32",
        dangerous="the weights are float16 and the optimizer is adamw_torch: eps 1e-8 is 0 there",
    ),
)
