"""The schedule returns a rate, and is multiplied by the rate."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="rate_times_itself",
    level=1,
    template="own_loop",
    ticket="For readability I gave one little helper a clearer name and made it say what it is. "
    "Same shape on paper: up, then gently down, I plotted it. Yet the thing now refuses "
    "to pick anything up, and two nights of compute went into proving that. Hardware "
    "checks passed.",
    faults=(
        Fault(
            title="learning rate squared",
            kind="schedule",
            plant=(
                Edit(
                    "train.py",
                    "    def factor(step):\n",
                    '    top = float(cfg["learning_rate"])\n\n    def rate(step):\n',
                ),
                Edit(
                    "train.py",
                    '            return (step + 1) / cfg["warmup_steps"]\n',
                    '            return top * (step + 1) / cfg["warmup_steps"]\n',
                ),
                Edit(
                    "train.py",
                    "        return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))\n",
                    "        return 0.5 * top * (1 + math.cos(math.pi * min(done, 1.0)))\n",
                ),
                Edit("train.py", "LambdaLR(optimizer, factor)", "LambdaLR(optimizer, rate)"),
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
