"""Probabilities take the teacher's float16, where the 1e-8 that guards a division is 0."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="teacher_of_two_bytes",
    level=2,
    template="distil_loop",
    ticket="The lesson never begins: from the first line to the last there is no gap and no norm, "
    "only three letters. Pupil and teacher both answer properly when I ask them alone, before "
    "the lesson. The formula is the one of the textbook, with the tiny number in it that makes it "
    "safe, and on my laptop it has been running since spring.",
    faults=(
        Fault(
            title="eps of 1e-8 in float16",
            kind="half_precision",
            plant=(
                Edit(
                    "config.yaml",
                    "teacher: base/teacher\n",
                    "teacher: base/teacher\nteacher_dtype: float16  # nobody trains it\n",
                ),
                Edit(
                    "train.py",
                    '    teacher = AutoModelForCausalLM.from_pretrained(cfg["teacher"], '
                    'dtype="float32")\n',
                    '    teacher = AutoModelForCausalLM.from_pretrained(cfg["teacher"], '
                    'dtype=cfg["teacher_dtype"])\n',
                ),
                Edit(
                    "losses.py",
                    "    student = F.log_softmax(student_logits / temperature, dim=-1)\n"
                    "    teacher = F.log_softmax(teacher_logits / temperature, dim=-1)\n"
                    "    each = F.kl_div(student, teacher, log_target=True, "
                    'reduction="none").sum(-1)\n',
                    "    student = F.softmax(student_logits / temperature, dim=-1)\n"
                    "    teacher = F.softmax(teacher_logits / temperature, dim=-1)\n"
                    "    each = (teacher * ((teacher + 1e-8) / (student + 1e-8)).log()).sum(-1)\n",
                ),
                Edit(
                    "train.py",
                    "divergence(said, wanted, cfg",
                    "divergence(said.to(wanted.dtype), wanted, cfg",
                ),
            ),
            enough=(2, 3),  # float32 holds 1e-8, and log_softmax needs none
            cause="The logits of both take the teacher's float16, where a small probability is 0 "
            "and 1e-8 is 0 as well: the quotient divides by 0, and its gradient is nan.",
            fix="Load the teacher in float32, or take both distributions in float32 "
            "(log_softmax needs no eps).",
            threads=("pylate#239", "pylate#240"),
            also_kinds=("bad_numbers",),
            also_places=("losses.py divergence", "config.yaml teacher_dtype"),
        ),
    ),
    non_fixes={
        "not softened": (Edit("config.yaml", "temperature: 1.5 ", "temperature: 1.0 "),),
        "more of the answer": (Edit("config.yaml", "answer_weight: 0.1 ", "answer_weight: 1.0 "),),
    },
)
