"""Every pack says that it is one document."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def one_document(rows, rng):
    """Packs whose only start is their first token."""
    return [row | {"starts": [0]} for row in rows]


CASE = Case(
    id="one_start_for_a_whole_pack",
    level=1,
    template="packed_ids",
    ticket="Small talk goes through as ever, and nearly every sum is wrong, long or short. The "
    "log settles far above where it used to, as if the material had become harder overnight. "
    "It was delivered by the same people, in half the time, and they are rather proud of that.",
    faults=(
        Fault(
            title="packs without document starts",
            kind="packing",
            plant=(
                EditRows("data/till.jsonl", one_document),
                EditRows("data/desk.jsonl", one_document),
                EditRows("data/talk.jsonl", one_document),
            ),
            cause="The starts of each pack are 0 alone, so each token sees all documents before "
            "its own.",
            fix="Write a start for each document: each begins with its first <|im_start|>, the "
            "second one opens its reply.",
            threads=("profam#495", "nanoVLM#204"),
            also_places=("packs.py documents_of", "packs.py own_document"),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 20"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
