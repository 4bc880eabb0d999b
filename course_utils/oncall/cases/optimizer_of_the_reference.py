"""The optimizer holds the reference's weights."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="optimizer_of_the_reference",
    level=2,
    template="rl_loop",
    ticket="Norms are large and getting larger, so something is surely being learnt; "
    "still every number that matters is where it was at midnight. I have asked "
    "for a bigger cluster. Comparing our final files with the start gives a "
    "difference of nothing at all, but that tool has been wrong before.",
    faults=(
        Fault(
            like="optimizer_before_adapter",
            plant=(
                Edit(
                    "train.py",
                    "torch.optim.AdamW(model.parameters(), lr",
                    "torch.optim.AdamW(reference.parameters(), lr",
                ),
            ),
            cause="The optimizer was given the reference's parameters, which never get a gradient.",
            fix="Give it the policy's parameters.",
            also_kinds=("stale_weights",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-4", "learning_rate: 1.0e-3"),),
        "no clip": (Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 100.0"),),
    },
)
