"""The schedule counts micro-batches, and its rate is at the floor after a quarter of the run."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="schedule_by_micro_batch",
    level=1,
    template="own_loop",
    ticket="Since we moved to the small machines the model comes out half-baked. It learns well at "
    "first, and then it is as if it had lost interest. Giving it more rows did not change that. "
    "Somebody suspects the data after the first thousand rows.",
    faults=(
        Fault(
            kind="schedule",
            plant=(
                Edit(
                    "train.py",
                    "        loss.backward()\n        total += loss.item()\n",
                    "        loss.backward()\n        schedule.step()\n"
                    "        total += loss.item()\n",
                ),
                Edit(
                    "train.py",
                    "    optimizer.step()\n    schedule.step()\n",
                    "    optimizer.step()\n",
                ),
            ),
            cause="The schedule is stepped after each micro-batch and counts optimizer steps, "
            "so the "
            "rate is 0 after a quarter of the run.",
            fix="Step the schedule where the optimizer is stepped.",
            threads=("llama-cookbook#27", "FastChat#2072"),
        ),
    ),
    non_fixes={
        "no warm-up": (Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 1"),),
        "no shuffling": (Edit("config.yaml", "shuffle: true", "shuffle: false"),),
    },
)
