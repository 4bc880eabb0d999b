"""beta is 0."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="beta_switched_off",
    level=1,
    template="dpo_digits",
    ticket="I was told that the leash is what keeps it dull, and took it off. The console has "
    "printed the same figure, 0.6931, twenty-four times since. Different machine: the "
    "same figure. It is eerie.",
    faults=(
        Fault(
            title="DPO with beta 0",
            kind="preference",
            plant=(Edit("config.yaml", "beta: 0.1", "beta: 0.0"),),
            cause="With beta 0 the loss is log 2 whatever the model says; in other trainers 0 "
            "switches a penalty off, here it switches off everything.",
            fix="Set beta: 0.1.",
            threads=("trl#1627",),
            also_kinds=("no_grad", "kl_place"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 6.0e-4"),),
        "no decay of the rate": (Edit("config.yaml", "scheduler: linear", "scheduler: constant"),),
    },
)
