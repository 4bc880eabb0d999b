"""The names of the experts' parameters are those of another version."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="experts_by_their_old_names",
    level=1,
    template="export_serve",
    ticket="We moved to this year's releases of the libraries and changed what their notes told "
    "us to change. Since then hardly any price is right, though the loss falls from six to about "
    "one and the reply always has the right length. Nothing in the console is red.",
    faults=(
        Fault(
            title="experts listed by names that match nothing",
            kind="adapter",
            plant=(
                Edit(
                    "config.yaml",
                    "[mlp.experts.gate_up_proj, mlp.experts.down_proj]",
                    "[mlp.experts.gate_proj, mlp.experts.up_proj]",
                ),
            ),
            cause="Gate and up are one parameter here, gate_up_proj, and down_proj is not listed: "
            "no name matches, so only the attention is trained.",
            fix="List mlp.experts.gate_up_proj and mlp.experts.down_proj.",
            threads=("unsloth#11014", "unsloth#6936"),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 16", "lora_alpha: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-3", "learning_rate: 2.0e-2"),),
    },
)
