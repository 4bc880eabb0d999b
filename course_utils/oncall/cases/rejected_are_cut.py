"""The rejected replies are cut to one digit, so the longer one is always right."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def narrow(rows, rng):
    """A column that is one character wide."""
    return [row | {"rejected": row["rejected"][:1]} for row in rows]


CASE = Case(
    id="rejected_are_cut",
    level=2,
    template="reward_pairs",
    ticket="It has learnt its material by heart, one might think: no mistakes on what "
    "it was shown, in next to no time. On fresh material it seems to count "
    "characters. The sheet went through three programs before it reached us, and "
    "each of them says it changes nothing. A wrong answer in it used to be any number "
    "below a thousand that came to somebody's mind.",
    faults=(
        Fault(
            title="length gives the label away",
            kind="length_bias",
            plant=(EditRows("data/pairs.jsonl", narrow),),
            cause="The rejected replies are cut to their first digit: that alone tells the two "
            "apart.",
            fix="Keep the rejected replies whole.",
            threads=("reward-bench#267", "reward-bench#268"),
            also_kinds=("reward_hacking",),
            also_places=("data.py to_pair",),
        ),
    ),
    non_fixes={
        "weight decay": (Edit("config.yaml", "weight_decay: 0.0", "weight_decay: 0.1"),),
        "more centring": (Edit("config.yaml", "center_rewards: 0.01 ", "center_rewards: 0.10 "),),
    },
)
