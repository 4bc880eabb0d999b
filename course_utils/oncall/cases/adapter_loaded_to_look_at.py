"""The starting adapter is loaded frozen."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="adapter_loaded_to_look_at",
    level=1,
    template="sft_lora",
    ticket="Yesterday I made the starting point reproducible for the whole team, nothing else. "
    "This morning: a stack trace out of the depths of autograd, and the parameter count "
    "in the banner reads oddly. Downgrading torch has been proposed.",
    faults=(
        Fault(
            like="adapter_loaded_frozen",
            plant=(
                Edit(
                    "train.py",
                    "from peft import LoraConfig\n",
                    "from peft import LoraConfig, PeftModel, get_peft_model\n",
                ),
                Edit(
                    "train.py",
                    "def build_trainer(cfg):\n",
                    "def with_adapter(model, cfg):\n"
                    '    """The adapter comes from disk, so that each of us starts from '
                    'the same one."""\n'
                    '    start = f"{RUN}/start"\n'
                    "    get_peft_model(load_model(cfg), "
                    "adapter_config(cfg)).save_pretrained(start)\n"
                    "    return PeftModel.from_pretrained(model, start)\n"
                    "\n"
                    "\n"
                    "def build_trainer(cfg):\n",
                ),
                Edit(
                    "train.py",
                    "        model=load_model(cfg),\n",
                    "        model=with_adapter(load_model(cfg), cfg),\n",
                ),
                Edit(
                    "train.py",
                    "        peft_config=adapter_config(cfg),\n",
                    "",
                ),
            ),
            cause="PeftModel.from_pretrained loads an adapter for inference, with every weight "
            "frozen.",
            also_kinds=("no_grad",),
        ),
    ),
    non_fixes={
        "more dropout": (Edit("config.yaml", "lora_dropout: 0.0", "lora_dropout: 0.1"),),
        "larger alpha": (Edit("config.yaml", "lora_alpha: 32 ", "lora_alpha: 64 "),),
    },
)
