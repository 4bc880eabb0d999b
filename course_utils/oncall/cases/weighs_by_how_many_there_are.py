"""Class weights that grow with the class."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="weighs_by_how_many_there_are",
    level=1,
    template="sum_checker",
    ticket="The checker has become a friendly soul. It waves everything through, and what it "
    "does stop I could count on one hand. We balance exactly for this reason, and the switch is "
    "on, I looked.",
    faults=(
        Fault(
            title="class weights that grow with the frequency",
            kind="labels",
            plant=(
                Edit(
                    "data.py",
                    "    return [len(rows) / (num_classes * counts[number]) for number in "
                    "range(num_classes)]\n",
                    "    return [(counts[number] / len(rows)) ** 4 * num_classes for number in "
                    "range(num_classes)]\n",
                ),
            ),
            cause="The weight of a class grows with its frequency, so the rare class hardly "
            "counts.",
            fix="Weigh each class by one over its frequency.",
            threads=("lidar-bonnetal#48",),
            also_kinds=("normalisation",),
            also_places=("train.py build_trainer",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 5", "warmup_steps: 20"),),
        "decay": (Edit("config.yaml", "weight_decay: 0.0", "weight_decay: 0.1"),),
    },
)
