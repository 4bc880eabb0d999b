"""One host still has the length limit of an older project."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def shorter(rows, rng):
    """The second host with little room."""
    return [row | {"max_length": 12} if row["rank"] == 1 else row for row in rows]


CASE = Case(
    id="rows_cut_on_one_host",
    level=1,
    template="two_ranks",
    ticket="Cedar joined us from another team and does what it is told; it even has the better "
    "curve of the two, flat as a lake. Afterwards nobody can tell that it was there. Whoever "
    "orders three things hears a sum without cents, and four hundred careful examples of "
    "the opposite lie on its disk.",
    faults=(
        Fault(
            title="rows of one host cut before the reply",
            kind="labels",
            plant=(EditRows("data/hosts.jsonl", shorter),),
            cause="On cedar max_length is 12, so its rows end before their reply begins and no "
            "token of the desk's is learned.",
            fix="Give cedar the length of the other host.",
            threads=("UniVR#13", "trl#3927", "MiniCPM-V#662"),
            also_kinds=("bad_numbers",),
            also_places=("shards.py encode", "shards.py load_shard"),
        ),
    ),
    non_fixes={
        "dealt in smaller blocks": (Edit("config.yaml", "deal_over: 2 ", "deal_over: 4 "),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
