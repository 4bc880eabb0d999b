"""After the first leg the weights reach rank 0, and no other."""

from course_utils.oncall.declare import Case, Edit, Fault

RESUMED = "        resume(replicas, optimizers, schedules, cfg)\n"

CASE = Case(
    id="weights_on_rank_0_alone",
    level=2,
    template="two_ranks",
    ticket="The machines have to be handed over at noon, so the run takes a break. All morning the "
    "curves fall side by side; after lunch one of them starts high up and the evening never makes "
    "up for it. What comes out is a lottery: one day the sums of two numbers are bad, another day "
    "hardly any price is right. Without the handover nobody complains.",
    faults=(
        Fault(
            title="resumed weights on one rank alone",
            kind="resume",
            plant=(
                Edit(
                    "train.py",
                    f"{RESUMED}    share_weights(replicas, cfg)\n",
                    f"{RESUMED}    else:\n        share_weights(replicas, cfg)\n",
                ),
            ),
            cause="Rank 0 loads the weights of the first leg and does not share them, so rank 1 "
            "goes on from the base, and the gradients of two different models are averaged.",
            fix="Share the weights of rank 0 after a resume as well as at the start.",
            threads=("detectron2#1732", "LlamaFactory#655", "horovod#1964"),
            also_kinds=("sharding", "stale_weights"),
            also_places=("train.py resume", "replicas.py share_weights"),
        ),
    ),
    non_fixes={
        "fresh optimizers": (
            Edit("train.py", '        optimizer.load_state_dict(state["optimizer"])\n', ""),
        ),
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 16"),),
    },
)
