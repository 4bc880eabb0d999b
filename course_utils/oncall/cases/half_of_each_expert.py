"""Two of the names of the experts' parameters are those of another version."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="half_of_each_expert",
    level=2,
    template="export_serve",
    ticket="We moved to this year's releases of the libraries and changed what their notes "
    "told us to change. Since then every third price has a wrong digit in it, at random "
    "as far as I can see, and on some days it is every second one. Nothing in the "
    "console is red.",
    faults=(
        Fault(
            title="half of each expert without an adapter",
            kind="adapter",
            plant=(
                Edit(
                    "config.yaml",
                    "[mlp.experts.gate_up_proj, mlp.experts.down_proj]",
                    "[mlp.experts.gate_proj, mlp.experts.up_proj, mlp.experts.down_proj]",
                ),
            ),
            cause="Gate and up are one parameter here, gate_up_proj, so two of the listed names "
            "match nothing; a library that finds the third says nothing about it.",
            fix="List mlp.experts.gate_up_proj and mlp.experts.down_proj.",
            threads=("unsloth#11014", "unsloth#6936"),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 16", "lora_alpha: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-3", "learning_rate: 2.0e-2"),),
    },
)
