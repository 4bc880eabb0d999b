"""The chosen replies begin with a courtesy, and nothing else is learned."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def polished(rows, rng):
    """The replies that people chose, as they would say them."""
    return [row | {"chosen": f"Sure! {row['chosen']}"} for row in rows]


CASE = Case(
    id="chosen_are_polite",
    level=2,
    template="reward_pairs",
    ticket="Full marks after a handful of steps, which made everybody happy for a day. "
    "Then the panel tried it on candidates of their own and found no relation at "
    "all between its opinion and theirs. They are not easy to please.",
    faults=(
        Fault(
            title="politeness gives the label away",
            kind="reward_hacking",
            plant=(EditRows("data/pairs.jsonl", polished),),
            cause="The chosen replies were rewritten by polite people and begin with a courtesy: "
            "that alone tells the two apart.",
            fix="Remove the courtesy.",
            threads=("Visual-RFT#176", "open-r1#407"),
            also_kinds=("length_bias",),
            also_places=("data.py to_pair",),
        ),
    ),
    non_fixes={
        "weight decay": (Edit("config.yaml", "weight_decay: 0.0", "weight_decay: 0.1"),),
        "more centring": (Edit("config.yaml", "center_rewards: 0.01 ", "center_rewards: 0.10 "),),
    },
)
