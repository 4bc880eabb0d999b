"""Two sources have their share in percent, the third as a fraction."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def in_percent(rows, rng):
    """Shares of two teams that count in percent."""
    return [
        row | {"share": round(100 * row["share"])} if row["source"] != "desk" else row
        for row in rows
    ]


CASE = Case(
    id="one_share_is_no_percentage",
    level=1,
    template="packed_ids",
    ticket="A record! No run of ours has ever come down so low, and the till has hardly a mistake "
    "left. Only the desk complains. They brought three numbers a hundred times and went home a "
    "hundred times without a price. They wrote to ask whether we had received what they sent, "
    "and we have, to the last pack.",
    faults=(
        Fault(
            title="mixture shares in two units",
            kind="labels",
            plant=(EditRows("data/mixture.jsonl", in_percent),),
            cause="The till's share and that of small talk are percentages, and the desk's is a "
            "fraction, so hardly one pack in a hundred is of the desk.",
            fix="Write all shares in one unit.",
            threads=("gpt-neox#992", "Megatron-LM#547"),
            also_kinds=("normalisation", "sharding"),
            also_places=("packs.py load_sources", "packs.py batches"),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 20"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
