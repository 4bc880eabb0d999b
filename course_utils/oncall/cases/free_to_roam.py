"""beta is 0."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="free_to_roam",
    level=1,
    template="kto_votes",
    ticket="I let it off, as it should be free to follow people wherever they lead. It does not "
    "take one step: before and after, the desk gives the same replies to the last digit. Both "
    "kinds of votes earn nought in every line of the console, and I have tried three machines.",
    faults=(
        Fault(
            like="beta_switched_off",
            title="KTO with beta 0",
            plant=(Edit("config.yaml", "beta: 0.1", "beta: 0.0"),),
            cause="With beta 0 the loss of a reply is half its weight whatever the model says, and "
            "nothing has a gradient.",
            also_kinds=("no_grad", "kl_place"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-4", "learning_rate: 1.0e-3"),),
        "more for a like": (
            Edit("config.yaml", "\ndesirable_weight: 3.0 ", "\ndesirable_weight: 9.0 "),
        ),
    },
)
