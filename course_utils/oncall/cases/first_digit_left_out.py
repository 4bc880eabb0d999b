"""The mask of what is learnt begins one position late."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="first_digit_left_out",
    level=2,
    template="distil_loop",
    ticket="The student copies its teacher to the third decimal, the curve is a beauty. In the "
    "demo it gets the units right more often than the hundreds, which nobody here has ever seen "
    "a model do. The teacher, asked the same things, is right nearly always.",
    faults=(
        Fault(
            title="loss mask begins one position late",
            kind="labels",
            plant=(
                Edit(
                    "data.py",
                    "predicts[number, num_prompt - 1 : len(row) - 1] = True",
                    "predicts[number, num_prompt : len(row)] = True",
                ),
            ),
            cause="The mask marks the tokens of the reply and not the positions that predict "
            "them, so the first token of each reply is never learnt.",
            fix="Mark the positions one before: from the last of the prompt to the last but one.",
            threads=("trl#6126",),
            also_places=("losses.py mean_over_reply", "losses.py of_answers"),
        ),
    ),
    non_fixes={
        "hotter": (Edit("config.yaml", "temperature: 1.5 ", "temperature: 4.0 "),),
        "decay": (Edit("config.yaml", "weight_decay: 0.0", "weight_decay: 0.1"),),
    },
)
