"""The adapter is merged into 4-bit weights, which are rounded again."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="second_rounding",
    level=2,
    template="export_serve",
    ticket="We are short of memory, so the big matrices have fifteen steps each, and the "
    "update on top trains just as well as it did without. The download is in the same "
    "format. There, one answer in two is wrong. The colleague who knew about formats "
    "has left.",
    faults=(
        Fault(
            like="merged_onto_a_grid",
            plant=(
                Edit(
                    "export.py",
                    "def load_base(cfg):\n"
                    "    return AutoModelForCausalLM.from_pretrained"
                    '(cfg["model"], dtype="float32")\n',
                    "LEVELS = 7\n"
                    "\n"
                    "\n"
                    "def quantised(model):\n"
                    '    """Each matrix of the blocks as multiples of its scale."""\n'
                    "    for weight in model.model.layers.parameters():\n"
                    "        if weight.dim() > 1:\n"
                    "            scale = weight.data.abs().max().clamp(min=1e-8) / LEVELS\n"
                    "            weight.data = (weight.data / scale).round() * scale\n"
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
            enough=(2,),
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
