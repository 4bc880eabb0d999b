"""The newest checkpoint is chosen by its name as text."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="newest_by_its_name",
    level=1,
    template="export_serve",
    ticket="The log ends as well as ever, and what we release behaves as if it had hardly been "
    "touched: plain sums, in good form. Two people have run it, on two machines. The "
    "only news of the week is that we keep more copies along the way, of which I was "
    "rather proud.",
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
            enough=(1,),  # steps of two digits sort alike as text and as numbers
            cause="Sorted as text, checkpoint-9 comes after checkpoint-80, so the adapter of the "
            "ninth step is exported.",
            fix="Sort the checkpoints by their step as a number, or export the last one saved.",
            threads=("open-instruct#541", "LLaMA-Factory#10797"),
            also_kinds=("adapter",),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 16", "lora_alpha: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-3", "learning_rate: 2.0e-2"),),
    },
)
