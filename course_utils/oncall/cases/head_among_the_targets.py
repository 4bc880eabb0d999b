"""The tied head has an adapter, which the merge adds to the embedding as well."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="head_among_the_targets",
    level=2,
    template="export_serve",
    ticket="Before packaging this is the best run of the quarter: asked in the notebook, with "
    "base and update still apart, it knows nearly everything. As the single file that "
    "the shop wants, it stammers. Same weights, same questions, I am told.",
    faults=(
        Fault(
            like="tied_head_merged",
            plant=(
                Edit(
                    "config.yaml",
                    "target_modules: [q_proj, v_proj]",
                    "target_modules: [q_proj, v_proj, lm_head]",
                ),
            ),
            fix="Leave lm_head out of the targets, or untie the head before the merge.",
            also_kinds=("embeddings",),
            also_places=("export.py merged",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 10", "warmup_steps: 20"),),
        "tied in the adapter as well": (
            Edit(
                "train.py",
                '        task_type="CAUSAL_LM",\n',
                '        task_type="CAUSAL_LM",\n        ensure_weight_tying=True,\n',
            ),
        ),
        "dropout": (Edit("config.yaml", "lora_dropout: 0.0", "lora_dropout: 0.1"),),
    },
)
