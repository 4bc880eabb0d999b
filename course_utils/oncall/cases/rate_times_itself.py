"""The schedule returns a rate, and is multiplied by the rate."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="rate_times_itself",
    level=1,
    template="own_loop",
    ticket="For readability I put a second little helper beside the first, with a name that says "
    "what it is. Same shape on paper: up, then gently down, I plotted it. Yet the thing now "
    "refuses to pick anything up, and two nights of compute went into proving that. Hardware "
    "checks passed.",
    faults=(
        Fault(
            title="learning rate squared",
            kind="schedule",
            plant=(
                Edit(
                    "train.py",
                    "    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)\n",
                    "    def rate(step):\n"
                    '        return float(cfg["learning_rate"]) * factor(step)\n'
                    "\n"
                    "    return torch.optim.lr_scheduler.LambdaLR(optimizer, rate)\n",
                ),
            ),
            cause="LambdaLR multiplies the optimizer's rate by what the function returns, and "
            "the function returns a rate, so the rate used is its square.",
            fix="Return a factor between 0 and 1.",
            threads=("pytorch#78917", "MIC#60"),
            also_kinds=("rate",),
            also_places=("train.py make_optimizer",),
        ),
    ),
    non_fixes={
        "no warm-up": (Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 1"),),
        "three times the rate": (
            Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 1.5e-3"),
        ),
    },
)
