"""The student's pass stands under no_grad beside the teacher's."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="student_without_a_graph",
    level=1,
    template="distil_loop",
    ticket="I tidied the loop on Friday so that both models are asked in one place, which saved "
    "a good part of the memory. Nobody has got a finished run out of it since, and I only moved "
    "two lines.",
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
            cause="The student's logits are computed under no_grad as well, so the loss has no "
            "graph.",
            fix="Only the teacher's pass belongs under no_grad.",
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-3", "learning_rate: 3.0e-3"),),
        "more of the answer": (Edit("config.yaml", "answer_weight: 0.1 ", "answer_weight: 1.0 "),),
    },
)
