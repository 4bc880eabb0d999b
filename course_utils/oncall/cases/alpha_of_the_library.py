"""The export writes the adapter's configuration anew, without its alpha."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="alpha_of_the_library",
    level=1,
    template="export_serve",
    ticket="One answer in five is right. The others come out in clear, or with one digit in "
    "code and the next one not. I ran it again with another shuffle and got the same "
    "picture. Asked right after the last step, in the same process, the model gets "
    "nearly all of them right.",
    faults=(
        Fault(
            title="adapter loaded with another alpha",
            kind="adapter",
            plant=(
                Edit(
                    "export.py",
                    "from peft import PeftModel\n",
                    "from peft import LoraConfig, PeftModel\n",
                ),
                Edit(
                    "export.py",
                    "def merged(adapter, cfg):",
                    "def adapter_config(cfg):\n"
                    '    """Without the paths of our cluster, which the saved one has."""\n'
                    "    return LoraConfig(\n"
                    '        r=cfg["lora_r"],\n'
                    '        target_modules=cfg["target_modules"],\n'
                    '        target_parameters=cfg["target_parameters"],\n'
                    '        task_type="CAUSAL_LM",\n'
                    "    )\n"
                    "\n"
                    "\n"
                    "def merged(adapter, cfg):",
                ),
                Edit(
                    "export.py",
                    "from_pretrained(load_base(cfg), adapter)",
                    "from_pretrained(load_base(cfg), adapter, config=adapter_config(cfg))",
                ),
            ),
            enough=(3,),
            cause="The configuration of the export leaves out lora_alpha, so the change is merged "
            "with the library's default, half of what it was trained with.",
            fix="Load the configuration that was saved with the adapter, or pass its lora_alpha.",
            threads=("verl#5325", "UniRL#155"),
        ),
    ),
    non_fixes={
        "dropout": (Edit("config.yaml", "lora_dropout: 0.0", "lora_dropout: 0.1"),),
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 10", "warmup_steps: 20"),),
    },
)
