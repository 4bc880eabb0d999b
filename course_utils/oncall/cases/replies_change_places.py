"""Chosen and rejected are exchanged."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="replies_change_places",
    level=1,
    template="dpo_digits",
    ticket="Every chart we have for this job points the right way, steeply even, and margins "
    "have never been so wide. Then the graders came back: one in ten. Before tuning it "
    "was a multiple of that. Is the judge drunk?",
    faults=(
        Fault(
            title="chosen and rejected swapped",
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
            cause="The two replies of each pair are swapped on their way to the trainer.",
            fix="Pass each reply under its own name.",
            threads=("trl#2578",),
        ),
    ),
    non_fixes={
        "a lower beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.05"),),
        "another loss": (Edit("config.yaml", "loss_type: sigmoid", "loss_type: ipo"),),
    },
)
