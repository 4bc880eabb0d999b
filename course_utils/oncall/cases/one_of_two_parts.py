"""A checkpoint of two parts is put together from the first of them."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="one_of_two_parts",
    level=1,
    template="two_ranks",
    ticket="It behaves like somebody who learnt it all and then fell on the head. One price comes "
    "with its cents, the next without, the third has six digits; and now and then even a plain sum "
    "has zeros behind it. Last month we still worked on a single machine, and it was sound.",
    faults=(
        Fault(
            title="one of two checkpoint parts left out",
            kind="stale_weights",
            plant=(Edit("config.yaml", "num_parts: 2 ", "num_parts: 1 "),),
            cause="Two ranks write a part of the checkpoint each and one part is read, so every "
            "other tensor is the base's, after the first leg and in the export.",
            fix="Read as many parts as there are ranks, and fail where a tensor is missing.",
            threads=("sglang#36438", "PhysRAG#3"),
            also_kinds=("resume", "sharding"),
            also_places=("replicas.py load_weights", "replicas.py save_part", "train.py export"),
        ),
    ),
    non_fixes={
        "a strict load": (Edit("replicas.py", "strict=False", "strict=True"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
