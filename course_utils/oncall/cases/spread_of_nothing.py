"""An advantage is divided by the standard deviation of equal rewards."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="spread_of_nothing",
    level=1,
    template="rl_loop",
    ticket="It stops in the middle, with a complaint about probabilities that are none. "
    "Which rollout it is differs from one start to the next. The weights of the "
    "checkpoint we load are fine, I went through every tensor.",
    faults=(
        Fault(
            title="std of equal rewards",
            kind="tiny_std",
            plant=(
                Edit(
                    "losses.py",
                    "def group_advantages(rewards, size, eps=1e-4):",
                    "def group_advantages(rewards, size):",
                ),
                Edit(
                    "losses.py",
                    "(centred / (groups.std(1, keepdim=True) + eps))",
                    "(centred / groups.std(1, keepdim=True))",
                ),
            ),
            cause="Where all replies of a group earn the same, 0 is divided by 0, and one such "
            "group makes every weight nan.",
            fix="Add a small number to the std, or drop such groups.",
            threads=("NeMo-RL#4161", "NeMo-RL#4158", "R1-V#69"),
            also_kinds=("bad_numbers",),
        ),
    ),
    non_fixes={
        "colder": (Edit("config.yaml", "temperature: 1.0", "temperature: 0.7"),),
        "no KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.0"),),
    },
)
