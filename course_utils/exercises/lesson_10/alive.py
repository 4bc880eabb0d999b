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
        "1": "the value of a loss does not say whether anything is learned",
        "2": "an advantage compares replies of one group, whatever the batch as a whole earns",
        "3": "one column does not name a cause; compare this row with all the others",
        "4": "a gradient can come from something else than the rewards: deeper look D",
        "5": "a gradient of 0 has several causes, and not every one is a fault",
        "6": "a share that is not 1 does not prove that groups differ",
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
