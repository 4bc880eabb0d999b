"""The reference is exported in place of the policy."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="reference_exported",
    level=2,
    template="dpo_digits",
    ticket="The share of pairs in the right order, as the job prints it, ends near the top. "
    "Side by side with its ancestor in the arena the outcome is a draw, four hundred "
    "times out of four hundred. Perhaps raters simply cannot tell good sums from bad "
    "ones.",
    faults=(
        Fault(
            title="reference exported instead of the policy",
            kind="stale_weights",
            plant=(
                Edit(
                    "train.py",
                    "    model, tokenizer = trainer.model, trainer.processing_class\n",
                    "    model, tokenizer = trainer.ref_model, trainer.processing_class\n",
                ),
            ),
            cause="The exported model is the reference, which is the model before training.",
            fix="Export trainer.model.",
            threads=("ms-swift#9855", "verl#3821"),
            also_kinds=("preference",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 6.0e-4"),),
        "a lower beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.05"),),
    },
)
