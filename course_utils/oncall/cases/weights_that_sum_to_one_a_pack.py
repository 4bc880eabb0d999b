"""In one source the weights of a pack sum to one."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def summing_to_one(rows, rng):
    """Weights that were divided by their sum, and are divided again in the loss."""
    made = []
    for row in rows:
        total = sum(row["weights"])
        made.append(row | {"weights": [round(weight / total, 5) for weight in row["weights"]]})
    return made


CASE = Case(
    id="weights_that_sum_to_one_a_pack",
    level=2,
    template="packed_ids",
    ticket="The desk has got slow at learning. It does pick up that there are cents, and then "
    "most of its sums are wrong, where most of them used to be right. Till and small talk have "
    "never been so good. A colleague thinks the model is too small for three numbers, but it "
    "is the one we had in spring.",
    faults=(
        Fault(
            title="loss weights divided by their sum in one source",
            kind="normalisation",
            plant=(EditRows("data/desk.jsonl", summing_to_one),),
            cause="The desk's weights sum to one in each pack, where those of the till are one a "
            "token, so the desk counts for a twentieth of what it should.",
            fix="Give each token of the desk's replies the same weight as one of the till's.",
            threads=("LongAlign#12", "tinker-cookbook#334"),
            also_kinds=("length_bias", "labels"),
            also_places=("train.py weighted_loss",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 20"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
