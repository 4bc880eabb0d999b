"""The ids of one source went through a byte each."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def in_bytes(rows, rng):
    """Ids as an array of bytes keeps them."""
    return [row | {"ids": [token % 256 for token in row["ids"]]} for row in rows]


CASE = Case(
    id="ids_of_one_byte",
    level=1,
    template="packed_ids",
    ticket="We moved the archive to the small disk and were glad that so much of it could be "
    "saved. Since then two numbers at the till get any reply at all, sometimes without an end, "
    "and three numbers at the desk are served as before. Both come out of the same shop, and "
    "the till's is the simpler half!",
    faults=(
        Fault(
            title="token ids wrapped at 256",
            kind="template",
            plant=(EditRows("data/till.jsonl", in_bytes),),
            cause="The till's ids were kept in a byte each, so those above 255 have wrapped: all "
            "tokens of the chat template are others, and the end of a reply as well.",
            fix="Add 256 to the ids that were wrapped.",
            threads=("transformers#2825", "transformers-trainers#12"),
            also_kinds=("embeddings", "never_stops", "retokenised"),
            also_places=("packs.py collate",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 20"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
