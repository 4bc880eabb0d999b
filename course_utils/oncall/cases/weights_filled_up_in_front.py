"""In one source the ids are filled up behind the documents and the loss weights in front."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault

PADDING = 317


def filled_in_front(rows, rng):
    """The weights of each pack with their zeros in front of it."""
    made = []
    for row in rows:
        ids, weights = row["ids"], row["weights"]
        gap = len(ids) - max(at + 1 for at, token in enumerate(ids) if token != PADDING)
        made.append(row | {"weights": [0] * gap + weights[: len(weights) - gap]})
    return made


CASE = Case(
    id="weights_filled_up_in_front",
    level=2,
    template="packed_ids",
    ticket="Three numbers are beyond it since the job was moved to the new cluster: it replies "
    "with pieces of the question, and now and then with half a sum. Two numbers it can do. The "
    "loss will not go where it went, either. I laid ten packs of the old delivery beside their "
    "twins of the new one, and every id agrees.",
    faults=(
        Fault(
            title="loss weights filled up in front in one source",
            kind="padding_side",
            plant=(EditRows("data/desk.jsonl", filled_in_front),),
            cause="The desk's packs are filled up behind their documents, and their weights in "
            "front: in every pack with a gap the weights belong to other tokens.",
            fix="Move the zeros of the desk's weights behind them.",
            threads=("transformers#25790", "unsloth#3699"),
            also_kinds=("labels", "packing"),
            also_places=("packs.py collate",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 20"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
