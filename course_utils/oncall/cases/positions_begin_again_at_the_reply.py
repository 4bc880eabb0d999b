"""In one source the reply's positions begin at 0 again."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault

TURN = 318  # <|im_start|>


def documents(row):
    """The first token of each document, that of its reply, and its end; padding is left out."""
    ids, found = row["ids"], []
    for start, end in zip(row["starts"], [*row["starts"][1:], len(row["ids"])], strict=True):
        if TURN in ids[start:end]:
            turn = max(at for at in range(start, end) if ids[at] == TURN)
            found.append((start, turn + 3, end))
    return found


def begins_again(rows, rng):
    """Positions of a prompt and of a reply that were numbered apart."""
    made = []
    for row in rows:
        positions = list(row["positions"])
        for _, reply, end in documents(row):
            positions[reply:end] = range(end - reply)
        made.append(row | {"positions": positions})
    return made


CASE = Case(
    id="positions_begin_again_at_the_reply",
    level=2,
    template="packed_ids",
    ticket="The desk used to be our pride. Three numbers, and what comes back stops where it "
    "should and is invented: you can ask all afternoon before one amount is right. Two numbers "
    "are added as well as in spring. The curve comes down and then rests on a shelf halfway, "
    "whatever we do.",
    faults=(
        Fault(
            title="positions that begin anew at the reply",
            kind="packing",
            plant=(EditRows("data/desk.jsonl", begins_again),),
            cause="The desk's positions begin at 0 again where a reply begins, so in training its "
            "tokens lie beside the prompt's first ones, and at the server behind the last one.",
            fix="Count the positions on from the prompt.",
            threads=("OLMo-core#591", "nanoVLM#201"),
            also_kinds=("padding_side",),
            also_places=("packs.py collate", "train.py weighted_loss"),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 20"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 8.0e-4", "learning_rate: 1.6e-3"),),
    },
)
