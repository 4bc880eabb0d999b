"""In one source each document has the reply of the next one of its pack."""

from course_utils.oncall.cases.positions_begin_again_at_the_reply import documents
from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def of_the_next(rows, rng):
    """Packs whose replies were joined one document late."""
    made = []
    for row in rows:
        found = documents(row)
        new = {"ids": [], "starts": [], "weights": []}
        for (start, reply, _), (_, own, end) in zip(found, found[1:] + found[:1], strict=True):
            new["starts"].append(len(new["ids"]))
            new["ids"] += row["ids"][start:reply] + row["ids"][own:end]
            new["weights"] += row["weights"][start:reply] + row["weights"][own:end]
        size = len(new["ids"])
        rest = {key: row[key][size:] for key in ("ids", "weights")}
        starts = [start for start in row["starts"] if start >= size]
        made.append(
            row | {key: new[key] + rest[key] for key in rest} | {"starts": new["starts"] + starts}
        )
    return made


CASE = Case(
    id="replies_of_the_next_document",
    level=2,
    template="packed_ids",
    ticket="Two numbers, and it draws lots. What comes back is a number, it ends neatly, and it "
    "is the answer to nothing that was asked. With three numbers, the harder job, it is about "
    "as good as it was. How does one unlearn 12+30?",
    faults=(
        Fault(
            title="replies joined with the document before",
            kind="labels",
            plant=(EditRows("data/till.jsonl", of_the_next),),
            cause="In each of the till's packs a question is followed by the reply of the next "
            "question, and the last one by the first reply.",
            fix="Move the replies on by one document in each pack of the till.",
            threads=("DataFlow#525", "datasets#2585"),
            also_places=("packs.py collate",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 20"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 8.0e-4", "learning_rate: 1.6e-3"),),
    },
)
