"""A pass without a graph, then the optimizer's wrong model, then a mask that begins late."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="three_in_the_lecture",
    level=3,
    template="distil_loop",
    ticket="The intern rewrote the loop to learn how it works, and has left us since. It is "
    "shorter now and reads nicely. We would like it to work as well: the student should come "
    "close to what it copies, as it did in spring.",
    faults=(
        Fault(
            like="scored_without_gradient",
            title="student's forward pass under no_grad",
            plant=(
                Edit(
                    "train.py",
                    "        wanted = logits_of(teacher, batch)\n"
                    "    said = logits_of(student, batch)\n",
                    "        wanted = logits_of(teacher, batch)\n"
                    "        said = logits_of(student, batch)\n",
                ),
            ),
            cause="The student's logits are computed under no_grad, so the loss has no graph.",
            fix="Only the teacher's pass belongs under no_grad.",
        ),
        Fault(
            like="optimizer_before_adapter",
            plant=(
                Edit(
                    "train.py",
                    "    optimizer = make_optimizer(student, cfg)\n",
                    "    optimizer = make_optimizer(teacher, cfg)\n",
                ),
            ),
            cause="The optimizer was given the teacher's parameters, which never get a gradient.",
            fix="Give it those of the student.",
            also_places=("train.py make_optimizer",),
        ),
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
            fix="Mark the positions one before.",
            threads=("trl#6126",),
            also_places=("losses.py mean_over_reply", "losses.py of_answers"),
        ),
    ),
)
