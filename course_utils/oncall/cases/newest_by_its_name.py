"""The newest checkpoint is chosen by its name as text."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="newest_by_its_name",
    level=1,
    template="export_serve",
    ticket="We now keep a copy of the run after every nine updates and release the freshest, in "
    "case the machine dies near the end. It has not died yet. But what we release has become "
    "useless, as if hardly any time had been spent on it.",
    faults=(
        Fault(
            title="checkpoints sorted as text",
            kind="stale_weights",
            plant=(
                Edit("config.yaml", "save_every: 20", "save_every: 9"),
                Edit("train.py", "import os\n", "import glob\nimport os\n"),
                Edit(
                    "train.py",
                    "def train(model, rows, pad_id, cfg):",
                    "def newest():\n"
                    '    return sorted(glob.glob(f"{RUN}/checkpoint-*"))[-1]\n'
                    "\n"
                    "\n"
                    "def train(model, rows, pad_id, cfg):",
                ),
                Edit(
                    "train.py",
                    "    model.save_pretrained(ADAPTER)\n",
                    '    save_checkpoint(model, cfg["max_steps"])\n',
                ),
                Edit("train.py", "export(ADAPTER, ", "export(newest(), "),
            ),
            cause="Sorted as text, checkpoint-9 comes after checkpoint-80, so the adapter of the "
            "ninth step is exported.",
            fix="Sort the checkpoints by their step as a number, or export the last one saved.",
            threads=("unsloth#6602", "open-instruct#541", "cosmos-rl#232"),
            also_kinds=("adapter",),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 16", "lora_alpha: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-3", "learning_rate: 2.0e-2"),),
    },
)
