"""The softmax of the KL runs over the positions of a row, not over the vocabulary."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="softmax_over_the_row",
    level=1,
    template="distil_loop",
    ticket="We have it copy from a model that knows almost every sum. After sixty steps hardly one "
    "of its own is right, and the gap between the two, as the console has it, is thrown about from "
    "one line to the next. The code came from people who sort photographs, where it has worked for "
    "years.",
    faults=(
        Fault(
            title="KL over positions instead of the vocabulary",
            kind="kl_place",
            plant=(
                Edit(
                    "losses.py",
                    "def divergence(",
                    "def softened(logits, temperature):\n"
                    '    """Log-probs at a temperature."""\n'
                    "    return F.log_softmax(logits / temperature, dim=1)\n"
                    "\n"
                    "\n"
                    "def divergence(",
                ),
                Edit(
                    "losses.py",
                    "    student = F.log_softmax(student_logits / temperature, dim=-1)\n"
                    "    teacher = F.log_softmax(teacher_logits / temperature, dim=-1)\n",
                    "    student = softened(student_logits, temperature)\n"
                    "    teacher = softened(teacher_logits, temperature)\n",
                ),
            ),
            enough=(2,),
            cause="Axis 1 of the logits counts positions, so both softmaxes say where in the row a "
            "token would stand, and the KL compares that; it never asks which token comes next.",
            fix="dim=-1, the axis of the vocabulary.",
            threads=("ALBEF#58", "TCL#12"),
            also_kinds=("normalisation", "bad_numbers"),
        ),
    ),
    non_fixes={
        "hotter": (Edit("config.yaml", "temperature: 1.5 ", "temperature: 2.5 "),),
        "more of the answers": (Edit("config.yaml", "answer_weight: 0.1 ", "answer_weight: 0.3 "),),
    },
)
