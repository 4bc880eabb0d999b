"""The optimizer holds the teacher."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="optimizer_of_the_teacher",
    level=2,
    template="distil_loop",
    ticket="Sixty steps without a complaint, a line for each of them, and what comes out scores "
    "to the digit what went in. I doubled the length, and it scores the same again. The "
    "cluster's people say that we have never used their machines so little.",
    faults=(
        Fault(
            like="optimizer_before_adapter",
            plant=(
                Edit(
                    "train.py",
                    "def train(student, teacher, rows, pad_id, cfg):\n"
                    "    optimizer = make_optimizer(student, cfg)\n",
                    "def train(teacher, student, rows, pad_id, cfg):\n"
                    "    optimizer = make_optimizer(student, cfg)\n",
                ),
                Edit(
                    "train.py",
                    "        apart, plain = losses_on(student, teacher, batch, cfg)\n",
                    "        apart, plain = losses_on(teacher, student, batch, cfg)\n",
                ),
            ),
            cause="The two models are handed over in another order than the function takes them, "
            "so the optimizer was given the teacher's frozen parameters.",
            fix="Give the optimizer the parameters of the student.",
            also_places=("train.py main", "train.py make_optimizer"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-3", "learning_rate: 1.0e-2"),),
        "no clip": (Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 100.0"),),
    },
)
