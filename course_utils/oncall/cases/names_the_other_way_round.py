"""Names of the classes are exported in another order than they are trained in."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="names_the_other_way_round",
    level=2,
    template="sum_checker",
    ticket="Training has never looked better, and the score on our own script is the best so "
    "far. Behind the assistant it lets nonsense through and stops perfectly good replies. The "
    "platform team says that it shows what the file says.",
    faults=(
        Fault(
            title="class names exported in another order",
            kind="labels",
            plant=(
                Edit(
                    "train.py",
                    "        id2label=dict(enumerate(classes)),\n"
                    "        label2id={name: number for number, name in enumerate(classes)},\n",
                    "        id2label=dict(enumerate(sorted(classes, reverse=True))),\n"
                    "        label2id={name: n for n, name in enumerate(sorted(classes, "
                    "reverse=True))},\n",
                ),
            ),
            cause="id2label sorts the names in another order than the one by which the rows "
            "were numbered, so each class is served under the other's name.",
            fix="Number the classes once, for the rows and for the config.",
            threads=("optimum#197", "setfit#462", "semantic-router#3557"),
            also_kinds=("metric",),
            also_places=("data.py encode",),
        ),
    ),
    non_fixes={
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 1.0e-3"),),
    },
)
