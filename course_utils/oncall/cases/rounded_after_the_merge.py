"""The merged weights are rounded to 4 bits with one scale per matrix."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="rounded_after_the_merge",
    level=1,
    template="sft_lora",
    ticket="We were asked for a smaller download. Before packaging, the demo answers like a "
    "calculator; after it, like a toddler with one. An intern doubled the rank of the "
    "update matrices in his copy, no change.",
    faults=(
        Fault(
            like="merged_onto_a_grid",
            plant=(
                Edit(
                    "train.py",
                    "def export(trainer, cfg):",
                    "def on_grid(weight, bits):\n"
                    '    """The nearest values that integers of so many bits and one scale '
                    'can hold."""\n'
                    "    scale = weight.abs().max() / (2 ** (bits - 1) - 1)\n"
                    "    return (weight / scale).round() * scale\n"
                    "\n"
                    "\n"
                    "def export(trainer, cfg):",
                ),
                Edit(
                    "train.py",
                    "        model = model.merge_and_unload()\n",
                    "        model = model.merge_and_unload()\n"
                    "        for weight in model.parameters():\n"
                    '            weight.data = on_grid(weight.data, cfg["export_bits"])\n',
                ),
                Edit(
                    "config.yaml",
                    "merge: true\n",
                    "merge: true\nexport_bits: 4\n",
                ),
            ),
            enough=(2,),
            fix="Export the merged weights in full precision.",
            also_kinds=("rounding",),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 32 ", "lora_alpha: 64 "),),
        "seven values more": (Edit("config.yaml", "export_bits: 4", "export_bits: 3"),),
    },
)
