"""The weights are copied into a plain model, whose keys the adapted layers do not match."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="copied_under_other_names",
    level=1,
    template="sft_lora",
    ticket="I wanted a file without any traces of the fine-tuning library in it, and I got one: "
    "it is clean, it loads, it is of the right size. It just does not know when to shut "
    "up, exactly like the pretrained release. Is 50 updates too little?",
    faults=(
        Fault(
            like="adapter_under_another_name",
            plant=(
                Edit(
                    "train.py",
                    "        model = model.merge_and_unload()\n",
                    "        whole = load_model(cfg)\n"
                    "        whole.load_state_dict(model.base_model.model.state_dict(), "
                    "strict=False)\n"
                    "        model = whole\n",
                ),
            ),
            cause="The keys of the adapted layers are not those of a plain model, and "
            "strict=False loads only what fits: the base's own weights stay.",
            fix="Use merge_and_unload(), or load strictly.",
            also_kinds=("stale_weights",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-3", "learning_rate: 1.0e-2"),),
        "larger alpha": (Edit("config.yaml", "lora_alpha: 32 ", "lora_alpha: 64 "),),
    },
)
