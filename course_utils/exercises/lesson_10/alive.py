"""Exercise 10.4: six log lines of one step each; which of the runs will learn?"""

from course_utils.checks.letters import letters_exercise

KEY = {"1": "a", "2": "d", "3": "c", "4": "f", "5": "b", "6": "e"}

ALIVE = letters_exercise(
    KEY,
    letters="abcdef",
    noun="Run",
    id="10.4",
    name="ALIVE",
    title="Six log lines",
    minutes=6,
    difficulty="six letters",
    points=3,
    reads="alive",
    whys={
        "1": "the value of this loss is 0 by construction, but its gradient is not",
        "2": "reward_std is computed over the whole batch, an advantage within a group",
        "3": "sums that are too hard and a wrong answer column give the same log; only replies "
        "differ",
        "4": "all replies earn the same 0.1, so what is left is rounding: deeper look D",
        "5": "if every reply is right, there is nothing to learn, and that is not a fault",
        "6": "no reply was judged, so no group was counted either",
    },
    nexts={
        "1": "look at grad_norm before you look at the loss",
        "2": "the rewards differ, but not within a group: what decides the reward then?",
        "3": "what is the reward of every reply?",
        "4": "is this gradient 0, or almost 0?",
        "5": "what is the reward of every reply, and can it be higher?",
        "6": "what does the reward column say?",
    },
    hints=(
        "In which of the six is grad_norm exactly 0?",
        "Of those, one has no reward at all, one has the highest, one the lowest, and one several.",
        "A gradient that is not 0 but far below that of run 1 comes from rewards that differ only "
        "by rounding.",
    ),
)
