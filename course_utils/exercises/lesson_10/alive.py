"""Exercise 10.4: six log lines of one step each; which of the runs will learn?"""

from course_utils.checks.letters import letters_exercise

KEY = {"1": "a", "2": "d", "3": "c", "4": "f", "5": "b", "6": "e"}

ALIVE = letters_exercise(
    KEY,
    letters="abcdef",
    noun="Run",
    id="10.4",
    name="ALIVE",
    title="Dead, alive, or neither?",
    minutes=6,
    difficulty="six letters",
    points=3,
    reads="alive",
    whys={
        "1": "the value of this loss is 0 by construction, and its gradient is not",
        "2": "reward_std is that of the whole batch; an advantage is that of a group",
        "3": "too hard and a wrong answer column log the same: only replies tell them apart",
        "4": "AdamW takes a full step for a gradient of 1e-4, too",
        "5": "what is always right teaches nothing, and is no fault",
        "6": "no reply was judged, so nothing was counted either",
    },
    nexts={
        "1": "look at grad_norm before you look at the loss",
        "2": "the rewards differ, and no group has a difference inside: who decides the reward?",
        "3": "what is the reward of every reply?",
        "4": "is this gradient 0, or almost 0?",
        "5": "what is the reward of every reply, and can it be better?",
        "6": "what does the reward column say?",
    },
    hints=(
        "In which of the six is grad_norm exactly 0?",
        "Of those, one has no reward at all, one has the best, one the worst, and one several.",
        "A gradient that is neither 0 nor of the size of run 1's comes from rewards that differ in "
        "their last digit alone.",
    ),
)
