"""The policy is loaded in float16, and AdamW steps the float16 weights themselves."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="policy_of_two_bytes",
    level=1,
    template="rl_loop",
    ticket="More than half of the sums are right in the first rollout, which is as good as any "
    "start that I have seen. Nobody has ever seen a second rollout. I asked for a step a "
    "thousand times smaller, and it stops at the same place, to the second. On the old "
    "server the same loop ran the whole night; it only needed twice the room there.",
    faults=(
        Fault(
            title="float16 weights under AdamW",
            kind="half_precision",
            plant=(
                Edit(
                    "train.py",
                    'AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")',
                    'AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float16")',
                ),
            ),
            cause="The weights that AdamW steps are float16, and so are its two averages: the "
            "squares of small gradients are 0 there, and so is an eps of 1e-8, so the first step "
            "divides by 0.",
            fix="Load the policy in float32.",
            threads=("glide-finetune#5", "glide-finetune#6"),
            also_kinds=("bad_numbers",),
            also_places=("train.py AdamW",),
        ),
    ),
    non_fixes={
        "colder": (Edit("config.yaml", "temperature: 1.0", "temperature: 0.7"),),
        "no KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.0"),),
    },
)
