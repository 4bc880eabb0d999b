"""Exercise 09.2: six pairs of a sampler and a trainer, told apart by their remaining difference."""

from course_utils.checks.letters import letters_exercise

KEY = {"1": "b", "2": "e", "3": "a", "4": "c", "5": "f", "6": "d"}

WHICH = letters_exercise(
    KEY,
    letters="abcdef",
    noun="Pair",
    id="09.2",
    name="WHICH",
    title="Six pairs",
    minutes=6,
    difficulty="six letters",
    points=3,
    reads="which",
    whys={
        "1": "a temperature explains every token, and leaves nothing",
        "2": "only the weights of then leave nothing",
        "3": "float32 with and without a cache: 1e-7",
        "4": "a cut support makes every reported log-prob too high, none too low",
        "5": "at T 1 nothing is left: the engine is sound, and the trainer is nats away from it",
        "6": "small, of both signs, and the same format explains nearly all of it",
    },
    nexts={
        "1": "which hypothesis leaves next to nothing, and at which T?",
        "2": "which hypothesis leaves next to nothing?",
        "3": "how large is the first number?",
        "4": "how large is the share of differences below 0?",
        "5": "at T 1.00 the hypothesis is the model as it is: which side is then the odd one?",
        "6": "which column falls by more than any other?",
    },
    hints=(
        "Read each row from left to right: which hypothesis leaves next to nothing of what the "
        "engine says? At T 1.00 that is the model as it stands, so nothing ails the engine.",
        "Where none does: of which sign are the differences? Where the engine is sound and "
        "mean |d| is not 0, look at the other side.",
        "In two rows T 1.00 leaves 0: in one of them mean |d| is 0, in the other it is nats. "
        "Three rows have a column of their own that leaves next to nothing. In the last row no "
        "column does, and the trainer gives less nearly everywhere, never more.",
    ),
)
