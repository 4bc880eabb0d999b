"""The line of the second host was copied from the first, with its rank."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def copied(rows, rng):
    """Every host with the rank of the first."""
    return [row | {"rank": rows[0]["rank"]} for row in rows]


CASE = Case(
    id="both_hosts_are_rank_0",
    level=1,
    template="two_ranks",
    ticket="The machine under the window was busy all night, one could hear it. Of its half I find "
    "no trace: with three numbers comes a bare total, as if nobody had ever spoken of cents. "
    "With two of them it is as good as it was in spring, or a little better.",
    faults=(
        Fault(
            title="two hosts with one rank",
            kind="sharding",
            plant=(EditRows("data/hosts.jsonl", copied),),
            cause="Both hosts have rank 0, so both read the till's files, and nobody reads those "
            "of the desk.",
            fix="Give cedar rank 1.",
            threads=("icefall#1616", "DeepLearningExamples#258", "DiffuSeq#37"),
            also_kinds=("labels",),
            also_places=("shards.py load_shard", "shards.py files_of"),
        ),
    ),
    non_fixes={
        "dealt in smaller blocks": (Edit("config.yaml", "deal_over: 2 ", "deal_over: 4 "),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
