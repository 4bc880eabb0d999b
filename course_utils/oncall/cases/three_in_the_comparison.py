"""A reference with the policy's weights, then pairs turned round, then the reference exported."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="three_in_the_comparison",
    level=3,
    template="dpo_digits",
    ticket="Stage two of the pipeline has never worked on this site. It starts, prints its "
    "banner, and is gone; stage one is fine. The other site says it also had 'a handful "
    "of things' to sort out back then, and has lost its notes.",
    faults=(
        Fault(
            kind="no_grad",
            plant=(
                Edit(
                    "train.py",
                    "import yaml\nfrom data import load_pairs",
                    "import copy\n\nimport yaml\nfrom data import load_pairs",
                ),
                Edit(
                    "train.py",
                    "def load_reference(cfg):\n"
                    '    """The policy before training; it is not trained."""\n'
                    '    reference = load_model(cfg["model"])\n',
                    "def load_reference(model):\n"
                    '    """The policy before training; it is not trained."""\n'
                    "    reference = copy.copy(model)\n",
                ),
                Edit(
                    "train.py",
                    "    return DPOTrainer(\n"
                    '        model=load_model(cfg["model"]),\n'
                    "        ref_model=load_reference(cfg),\n",
                    '    model = load_model(cfg["model"])\n'
                    "    return DPOTrainer(\n"
                    "        model=model,\n"
                    "        ref_model=load_reference(model),\n",
                ),
            ),
            cause="copy.copy copies the shell: policy and reference share their weights, "
            "and freezing the one freezes the other.",
            fix="copy.deepcopy, or a second load.",
            threads=("trl#1311", "POVID#11"),
            also_kinds=("preference",),
        ),
        Fault(
            kind="preference",
            plant=(
                Edit(
                    "data.py",
                    '"chosen": assistant(row["chosen"]),\n'
                    '        "rejected": assistant(row["rejected"]),',
                    '"rejected": assistant(row["chosen"]),\n'
                    '        "chosen": assistant(row["rejected"]),',
                ),
            ),
            cause="The two replies of each pair change places on their way to the trainer.",
            fix="Each reply under its own name.",
            threads=("trl#2578",),
        ),
        Fault(
            kind="stale_weights",
            plant=(
                Edit(
                    "train.py",
                    "    model, tokenizer = trainer.model, trainer.processing_class\n",
                    "    model, tokenizer = trainer.ref_model, trainer.processing_class\n",
                ),
            ),
            cause="The reference is exported, which is the model before training.",
            fix="Export trainer.model.",
            threads=("ms-swift#9855", "verl#3821"),
            also_kinds=("preference",),
        ),
    ),
)
