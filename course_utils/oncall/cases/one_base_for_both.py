"""The export wraps the model that training has already wrapped."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="one_base_for_both",
    level=2,
    template="export_serve",
    ticket="Packaging took twice the memory it needed, so that has been optimised; a clean "
    "change of one line, reviewed by two people. After it, a vague warning went by and was taken "
    "for noise. Every update of the run is lost between its end and the shop.",
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
            cause="get_peft_model changes the base in place, and the cache gives that same model "
            "to the export: its layers have other names than the adapter's keys say, so nothing "
            "is loaded.",
            fix="Load a fresh base for the export.",
            threads=("lerobot#3459", "peft#184"),
            also_kinds=("stale_weights",),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 16", "lora_alpha: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-3", "learning_rate: 2.0e-2"),),
    },
)
