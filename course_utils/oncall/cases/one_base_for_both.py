"""The export wraps the model that training has already wrapped."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="one_base_for_both",
    level=1,
    template="export_serve",
    ticket="All eighty updates are made, the loss is fine, and then nothing is released: the "
    "job dies while it packs up, with a complaint from deep inside a library which asks "
    "us to open an issue there. I have opened one. They want to know what is special "
    "about our set-up, and I have no answer.",
    faults=(
        Fault(
            title="adapter loaded into a model that has one",
            kind="adapter",
            plant=(
                Edit(
                    "export.py",
                    "from peft import PeftModel\n",
                    "from functools import cache\n\nfrom peft import PeftModel\n",
                ),
                Edit(
                    "export.py",
                    "def load_base(cfg):\n"
                    '    return AutoModelForCausalLM.from_pretrained(cfg["model"], ',
                    "def load_base(cfg):\n"
                    '    return load_weights(cfg["model"])\n'
                    "\n"
                    "\n"
                    "@cache\n"
                    "def load_weights(folder):\n"
                    "    return AutoModelForCausalLM.from_pretrained(folder, ",
                ),
            ),
            enough=(2,),
            cause="get_peft_model changes the base in place, and the cache gives that same model "
            "to the export: its layers have other names than the adapter's keys say, so nothing "
            "is loaded.",
            fix="Load a fresh base for the export.",
            threads=("peft#2115", "peft#1025"),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 16", "lora_alpha: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-3", "learning_rate: 2.0e-2"),),
    },
)
