"""The votes are sorted, and the trainer keeps their order."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def sorted_by_verdict(rows, rng):
    """Votes as a query with ORDER BY gives them."""
    return sorted(rows, key=lambda row: row["liked"])


CASE = Case(
    id="dislikes_before_likes",
    level=2,
    template="kto_votes",
    ticket="My successor has tidied the folder. Nothing was added and nothing thrown away, I have "
    "counted twice. From the untidy one the desk learnt to answer three in four; now it is fewer "
    "than half. What it prints on the way looks like two different days of weather.",
    faults=(
        Fault(
            title="batches of one kind of vote",
            kind="preference",
            plant=(EditRows("data/votes.jsonl", sorted_by_verdict),),
            cause="The votes are sorted by verdict, and KTOTrainer takes rows in the order that "
            "they come in: seven tenths of the run only push replies away.",
            fix="Shuffle the examples before they go to the trainer, or put the votes in the order "
            "of the log.",
            threads=("LLaMA-Factory#4045", "trl#5864"),
            also_kinds=("labels", "no_signal", "normalisation", "collapse"),
            also_places=(
                "votes.py load_feedback",
                "train.py train",
                "train.py kto_config",
            ),
        ),
    ),
    non_fixes={
        "random order from the trainer": (  # which refuses it: its KL needs neighbours
            Edit(
                "train.py",
                "        max_length=cfg",
                '        train_sampling_strategy="random",\n        max_length=cfg',
            ),
        ),
        "no decay of the rate": (Edit("config.yaml", "scheduler: linear", "scheduler: constant"),),
    },
)
