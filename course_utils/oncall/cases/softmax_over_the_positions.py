"""Both distributions of the distillation loss are normalised over the positions of a row."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="softmax_over_the_positions",
    level=1,
    template="distil_loop",
    ticket="Lower is better, they told me, so this must be the best pupil we ever had: the gap to "
    "its teacher went below zero in the first minute and ends far down there. In the oral exam it "
    "stops politely behind each answer, and hardly one is what the teacher would have said.",
    faults=(
        Fault(
            title="softmax over the positions in the distillation loss",
            kind="normalisation",
            plant=(
                Edit(
                    "losses.py",
                    "    student = F.log_softmax(student_logits / temperature, dim=-1)\n"
                    "    teacher = F.log_softmax(teacher_logits / temperature, dim=-1)\n",
                    "    both = torch.stack([student_logits, teacher_logits]) / temperature\n"
                    "    student, teacher = F.log_softmax(both, dim=2)\n",
                ),
            ),
            cause="Stacked, the logits have their positions in dimension 2 and the vocabulary in "
            "3, so the softmax runs over the positions of a row, padding included: what is "
            "compared are no distributions of tokens, and it depends on how far the batch pads "
            "the row.",
            fix="Normalise over the last dimension, dim=-1.",
            threads=("ALBEF#58", "TCL#12"),
            also_kinds=("kl_place",),
            also_places=("train.py losses_on",),
        ),
    ),
    non_fixes={
        "more of the answer": (Edit("config.yaml", "answer_weight: 0.1 ", "answer_weight: 1.0 "),),
        "not softened": (Edit("config.yaml", "temperature: 1.5 ", "temperature: 1.0 "),),
    },
)
