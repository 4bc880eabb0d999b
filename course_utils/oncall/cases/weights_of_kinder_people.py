"""The weights belong to a log in which dislikes are rare."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="weights_of_kinder_people",
    level=1,
    template="kto_votes",
    ticket="The sister project got a splendid desk out of this script, so we took over their "
    "numbers. Ours gives fewer right answers than before it was trained. Their customers are "
    "kinder than ours, but this much?",
    faults=(
        Fault(
            title="KTO weights for the opposite imbalance",
            kind="preference",
            plant=(
                Edit(
                    "config.yaml",
                    "desirable_weight: 3.0   # three votes in ten are likes\n"
                    "undesirable_weight: 1.0\n",
                    "desirable_weight: 1.0\n"
                    "undesirable_weight: 9.0   # one vote in ten is a dislike\n",
                ),
            ),
            cause="Dislikes are more than twice as many as likes and weigh nine times as much: the "
            "run pushes replies away twenty times as hard as it draws them near.",
            fix="Give likes the weight 3 and dislikes 1.",
            threads=("trl#1467", "trl#1447"),
            also_kinds=("normalisation", "collapse"),
            also_places=("train.py kto_config",),
        ),
    ),
    non_fixes={
        "lower beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.03"),),
        "no decay of the rate": (Edit("config.yaml", "scheduler: linear", "scheduler: constant"),),
    },
)
