"""One of the two names of the experts' parameters is that of another version."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="half_of_each_expert",
    level=2,
    template="export_serve",
    ticket="Since the upgrade of the libraries the assistant mixes up digits in every other "
    "price. The file for the server is a third smaller, which I had put down to better "
    "compression. Nothing in the console is red.",
    faults=(
        Fault(
            title="half of each expert without an adapter",
            kind="adapter",
            plant=(
                Edit(
                    "config.yaml",
                    "[mlp.experts.gate_up_proj, mlp.experts.down_proj]",
                    "[mlp.experts.gate_proj, mlp.experts.up_proj]",
                ),
            ),
            cause="The experts' parameters are called gate_up_proj and down_proj here, so the "
            "listed names match none of them and only the attention is trained.",
            fix="List mlp.experts.gate_up_proj and mlp.experts.down_proj.",
            threads=("unsloth#11014", "unsloth#6936"),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 16", "lora_alpha: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-3", "learning_rate: 2.0e-2"),),
    },
)
