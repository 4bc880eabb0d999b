"""The adapter is merged into 4-bit weights, which are rounded again."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="second_rounding",
    level=2,
    template="export_serve",
    ticket="To save memory we hold the big matrices in fifteen steps per block, and the update "
    "on top trains just as well. The download is in the same format. In it, the code is "
    "gone and the plain sums are back; a fourfold number of levels did not fit the budget.",
    faults=(
        Fault(
            like="merged_onto_a_grid",
            plant=(
                Edit(
                    "export.py",
                    "def load_base(cfg):\n"
                    "    return AutoModelForCausalLM.from_pretrained"
                    '(cfg["model"], dtype="float32")\n',
                    "BLOCK, LEVELS = 64, 7\n"
                    "\n"
                    "\n"
                    "def quantised(model):\n"
                    '    """Each matrix of the blocks as multiples of a scale per 64 weights."""\n'
                    "    for weight in model.model.layers.parameters():\n"
                    "        if weight.numel() % BLOCK == 0 and weight.dim() > 1:\n"
                    "            rows = weight.data.reshape(-1, BLOCK)\n"
                    "            top = rows.abs().amax(1, keepdim=True).clamp(min=1e-8)\n"
                    "            rounded = (rows / top * LEVELS).round() * top / LEVELS\n"
                    "            weight.data = rounded.reshape(weight.shape)\n"
                    "    return model\n"
                    "\n"
                    "\n"
                    "def load_base(cfg):\n"
                    "    model = AutoModelForCausalLM.from_pretrained"
                    '(cfg["model"], dtype="float32")\n'
                    "    return quantised(model)\n",
                ),
                Edit(
                    "export.py",
                    "    return model.merge_and_unload()\n",
                    "    return quantised(model.merge_and_unload())\n",
                ),
            ),
            fix="Export the merged weights without rounding them again, or merge into the base "
            "of full precision and round once.",
            also_kinds=("rounding",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 10", "warmup_steps: 20"),),
        "dropout": (Edit("config.yaml", "lora_dropout: 0.0", "lora_dropout: 0.1"),),
    },
)
