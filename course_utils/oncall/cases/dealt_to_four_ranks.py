"""The files are dealt to the four ranks of the cluster, and two are there."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="dealt_to_four_ranks",
    level=2,
    template="two_ranks",
    ticket="A rehearsal at home before the real thing in the big hall. Never have the short sums "
    "come out so well, and the curve is at the bottom after a third of the time. Orders of three "
    "are another matter, there it has no idea. Does something so small forget, or did it never "
    "know?",
    faults=(
        Fault(
            title="files dealt to more ranks than there are",
            kind="labels",
            plant=(Edit("config.yaml", "deal_over: 2 ", "deal_over: 4 "),),
            cause="The files are dealt to four ranks and two are running, so the second half of "
            "the index, which is the desk's, is read by nobody.",
            fix="Deal the files to as many ranks as there are hosts.",
            threads=("determined#5046", "SimpleTuner#2986"),
            also_kinds=("sharding",),
            also_places=("shards.py files_of",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 16"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
