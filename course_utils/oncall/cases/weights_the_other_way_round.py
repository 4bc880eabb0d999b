"""In one source 1 says that a token is left out."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def other_way_round(rows, rng):
    """Weights of a job in which 1 stands for what is masked."""
    return [row | {"weights": [0 if weight else 1 for weight in row["weights"]]} for row in rows]


CASE = Case(
    id="weights_the_other_way_round",
    level=1,
    template="packed_ids",
    ticket="Bring it three numbers and you would think that the desk had never sent us anything. "
    "At the till all is well. The new job is said to do the same as the old one, and its "
    "authors have figures to show for it. I have checked that half of every batch is the "
    "desk's, and the curve says that it is hard work.",
    faults=(
        Fault(
            title="inverted loss mask in one source",
            kind="labels",
            plant=(EditRows("data/desk.jsonl", other_way_round),),
            cause="The desk's weights are a mask of what is to be left out, so its questions and "
            "its padding are trained and its replies are not.",
            fix="Exchange 0 and 1 in the desk's weights.",
            threads=("torchtune#2792", "diffusion-pipe#155"),
            also_places=("train.py weighted_loss",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 20"),),
        "a higher limit": (Edit("config.yaml", "max_new_tokens: 24", "max_new_tokens: 48"),),
    },
)
