"""The reference is a shallow copy, frozen along with the policy."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="reference_shares_the_weights",
    level=1,
    template="dpo_digits",
    ticket="Loading the same checkpoint twice seemed wasteful to me, and halving the start-up "
    "time was applauded in the stand-up. Applause is over: it stops at the first update "
    "with a complaint that I do not understand, something about tensors and functions.",
    faults=(
        Fault(
            title="reference shares the policy's weights",
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
            cause="copy.copy copies only the outer object: policy and reference share their "
            "weights, and freezing one freezes the other.",
            fix="Use copy.deepcopy, or load the model twice.",
            threads=("trl#1311", "POVID#11"),
            also_kinds=("preference",),
        ),
    ),
    non_fixes={
        "a lower beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.05"),),
        "another loss": (Edit("config.yaml", "loss_type: sigmoid", "loss_type: ipo"),),
    },
)
