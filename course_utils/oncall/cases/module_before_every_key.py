"""The adapter's keys begin with module., and nothing is loaded from it."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="module_before_every_key",
    level=1,
    template="export_serve",
    ticket="The file of the update is on disk, a megabyte of it, and those are not zeros: I "
    "have looked. What we ship still answers exactly as the model did that we started "
    "from. Do I need a newer safetensors?",
    faults=(
        Fault(
            like="adapter_under_another_name",
            plant=(
                Edit(
                    "train.py",
                    "from peft import LoraConfig, get_peft_model\n",
                    "from peft import LoraConfig, get_peft_model, get_peft_model_state_dict\n"
                    "from safetensors.torch import save_file\n",
                ),
                Edit(
                    "train.py",
                    "def train(model, rows, pad_id, cfg):",
                    "def save_adapter(model, folder):\n"
                    '    """As the trainer on two cards saves it, so that both read the same."""\n'
                    '    model.peft_config["default"].save_pretrained(folder)\n'
                    "    state = get_peft_model_state_dict(model)\n"
                    '    state = {f"module.{name}": w.contiguous() for name, w in state.items()}\n'
                    '    save_file(state, f"{folder}/adapter_model.safetensors")\n'
                    "\n"
                    "\n"
                    "def train(model, rows, pad_id, cfg):",
                ),
                Edit(
                    "train.py",
                    "    model.save_pretrained(ADAPTER)\n",
                    "    save_adapter(model, ADAPTER)\n",
                ),
            ),
            enough=(3,),
            also_places=("export.py merged",),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 16", "lora_alpha: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-3", "learning_rate: 2.0e-2"),),
    },
)
