"""The average that is exported is kept in bfloat16, where its small moves are rounded away."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="average_of_two_bytes",
    level=2,
    template="distil_loop",
    ticket="The lesson goes well to the last minute: the gap between the two closes, and the norms "
    "calm down. Then the pupil is packed up and gets every other sum wrong, and the ones it gets "
    "right it could do before. My neighbour has the same loop, with the same memory of fifty "
    "steps, and has no such trouble on his big card.",
    faults=(
        Fault(
            title="weight average kept in bfloat16",
            kind="rounding",
            plant=(
                Edit(
                    "train.py",
                    "import json\nimport os\n",
                    "import copy\nimport json\nimport os\n",
                ),
                Edit(
                    "train.py",
                    "def train(student, teacher,",
                    "@torch.no_grad()\n"
                    "def blend(average, student, decay):\n"
                    '    """Move the average a little towards the student."""\n'
                    "    for kept, weight in zip(average.parameters(), student.parameters()):\n"
                    "        kept.lerp_(weight.to(kept.dtype), 1 - decay)\n"
                    "\n"
                    "\n"
                    "def train(student, teacher,",
                ),
                Edit(
                    "train.py",
                    "    schedule = make_schedule(optimizer, cfg)\n",
                    "    schedule = make_schedule(optimizer, cfg)\n"
                    "    average = copy.deepcopy(student).to(torch.bfloat16)\n",
                ),
                Edit(
                    "train.py",
                    "        schedule.step()\n",
                    "        schedule.step()\n"
                    '        blend(average, student, cfg["average_decay"])\n',
                ),
                Edit(
                    "train.py",
                    "    return log\n",
                    "    student.load_state_dict(average.state_dict())\n    return log\n",
                ),
                Edit(
                    "config.yaml",
                    "max_grad_norm: 1.0\n",
                    "max_grad_norm: 1.0\naverage_decay: 0.98     # what is exported\n",
                ),
            ),
            enough=(5,),
            cause="The average of the weights is kept in bfloat16: a fiftieth of the way to the "
            "student is less than half the gap between two of its numbers, so most of its weights "
            "never move.",
            fix="Keep the average in float32.",
            threads=("sd_dreambooth_extension#1415", "ram#6"),
            also_kinds=("stale_weights", "half_precision"),
        ),
    ),
    non_fixes={
        "hotter": (Edit("config.yaml", "temperature: 1.5 ", "temperature: 2.5 "),),
        "longer memory": (Edit("config.yaml", "average_decay: 0.98 ", "average_decay: 0.99 "),),
    },
)
