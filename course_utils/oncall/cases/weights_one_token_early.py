"""One source has its weights where the predictions are, not the tokens."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def one_early(rows, rng):
    """Weights of the tokens that predict, under the names of those that are predicted."""
    return [row | {"weights": [*row["weights"][1:], 0]} for row in rows]


CASE = Case(
    id="weights_one_token_early",
    level=2,
    template="packed_ids",
    ticket="The easy half is broken and the hard half is in better shape than ever. Two numbers "
    "come back with a tail behind them, nearly every time, and with three it does not happen. "
    "And how smooth it all looks, a hand's breadth lower than in the last run.",
    faults=(
        Fault(
            title="loss weights one token early",
            kind="never_stops",
            plant=(EditRows("data/till.jsonl", one_early),),
            cause="The till's weights lie one token early, and are moved once more in the loss: "
            "the line break before a reply is trained, and its end is not.",
            fix="Move the till's weights one token on.",
            threads=("verl#5362", "verl#3562"),
            also_kinds=("labels",),
            also_places=("train.py weighted_loss",),
        ),
    ),
    non_fixes={
        "a lower limit": (Edit("config.yaml", "max_new_tokens: 24", "max_new_tokens: 12"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 8.0e-4", "learning_rate: 1.6e-3"),),
    },
)
