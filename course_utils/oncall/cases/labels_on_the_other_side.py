"""Ids are padded on the left and labels on the right."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="labels_on_the_other_side",
    level=1,
    template="own_loop",
    ticket="Odd one. Feed it one example at a time and the training figures are believable; in "
    "groups they hover, and what comes out is confused about where a number begins. We "
    "switched to the faster attention kernel in the same week and suspect that.",
    faults=(
        Fault(
            title="labels padded on the other side",
            kind="padding_side",
            plant=(
                Edit(
                    "data.py",
                    '    """Rows padded on the right to the longest of them."""\n',
                    '    """Rows padded to the longest of them."""\n',
                ),
                Edit("data.py", "ids + [pad_id] * gap", "[pad_id] * gap + ids"),
                Edit("data.py", "[1] * len(ids) + [0] * gap", "[0] * gap + [1] * len(ids)"),
            ),
            cause="Ids and mask are padded on the left but labels on the right, so in every row "
            "shorter than the longest the labels belong to other tokens.",
            fix="Pad all three on the same side.",
            threads=("transformers#25790", "unsloth#3699"),
            also_kinds=("labels",),
        ),
    ),
    non_fixes={
        "no shuffling": (Edit("config.yaml", "shuffle: true", "shuffle: false"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 2.0e-3"),),
    },
)
