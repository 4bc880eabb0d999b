"""The saved adapter keeps the keys with a projection's name, and loses the experts."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="only_what_is_called_proj",
    level=2,
    template="export_serve",
    ticket="Our store refuses folders above half a megabyte, so since Monday the upload is "
    "smaller; the store is happy. On the way out all is well. Behind it, replies have "
    "the right length and plain digits, and a longer run did not help.",
    faults=(
        Fault(
            title="experts' adapters left out of the file",
            kind="adapter",
            plant=(
                Edit(
                    "train.py",
                    "from peft import LoraConfig, get_peft_model\n",
                    "from peft import LoraConfig, get_peft_model, get_peft_model_state_dict\n",
                ),
                Edit(
                    "train.py",
                    "    model.save_pretrained(ADAPTER)\n",
                    "    state = get_peft_model_state_dict(model)\n"
                    '    kept = {name: w for name, w in state.items() if "_proj.lora_" in name}\n'
                    "    model.save_pretrained(ADAPTER, state_dict=kept)\n",
                ),
            ),
            enough=(2,),
            cause="The adapters of the experts have no projection in their keys, so the filter "
            "drops them and only those of the attention are saved.",
            fix="Save every tensor of the adapter.",
            threads=("unsloth-zoo#885", "vllm#41754"),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 16", "lora_alpha: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-3", "learning_rate: 2.0e-2"),),
    },
)
