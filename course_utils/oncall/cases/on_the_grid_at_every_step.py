"""After every step the weights are rounded to float8, which loses the step."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="on_the_grid_at_every_step",
    level=1,
    template="own_loop",
    ticket="I left it alone over lunch and nothing has come of it: the last line of the log could "
    "be the first, give or take. The gradients are as lively as in the good run, and the rate "
    "climbs and falls as drawn. With a tenth of the rate it is worse, if that is possible. Can "
    "rows simply teach nothing?",
    faults=(
        Fault(
            title="updates lost to float8 rounding",
            kind="rounding",
            plant=(
                Edit(
                    "train.py",
                    "def optimizer_step(model,",
                    "@torch.no_grad()\n"
                    "def as_served(model):\n"
                    '    """The weights as the server will hold them."""\n'
                    "    for weight in model.parameters():\n"
                    "        weight.copy_(weight.to(torch.float8_e4m3fn))\n"
                    "\n"
                    "\n"
                    "def optimizer_step(model,",
                ),
                Edit(
                    "train.py",
                    "    optimizer.step()\n    schedule.step()\n",
                    "    optimizer.step()\n    as_served(model)\n    schedule.step()\n",
                ),
            ),
            enough=(2,),
            cause="After every step the weights are rounded to float8, whose neighbours are an "
            "eighth apart: an update is far below half of that gap and is rounded away.",
            fix="Keep the weights in float32 while training, and round once for the server.",
            threads=("torchtune#2254", "pytorch#120376"),
            also_kinds=("half_precision", "no_grad"),
        ),
    ),
    non_fixes={
        "no clipping": (Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 100.0"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
