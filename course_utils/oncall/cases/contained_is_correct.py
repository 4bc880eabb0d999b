"""The verifier asks whether one text is contained in the other."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="contained_is_correct",
    level=1,
    template="grpo_sums",
    ticket="Best run so far by the curves: the reward climbs steadily to the top. The evaluation "
    "team sent the checkpoint back and says that it is worse than what we started from. They "
    "must be using the wrong prompt.",
    faults=(
        Fault(
            like="substring_verifier",
            plant=(
                Edit(
                    "rewards.py",
                    "return [float(parse(text_of(c)) == int(gold)) for c, gold in "
                    "zip(completions, answer)]",
                    "replies = [text_of(c) for c in completions]\n"
                    "    return [float(r in gold or gold in r) for r, gold in zip(replies, "
                    "answer)]",
                ),
                Edit("config.yaml", "reward_format: 0.2", "reward_format: 0.0"),
            ),
            enough=(1,),  # the right sum is paid, and nothing for its format
        ),
    ),
    non_fixes={
        "clip less": (Edit("config.yaml", "epsilon: 0.2", "epsilon: 0.1"),),
        "a KL term": (Edit("config.yaml", "beta: 0.0 ", "beta: 0.04 "),),
    },
)
