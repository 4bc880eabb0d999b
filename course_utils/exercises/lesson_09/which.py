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
        "1": "the size of d does not name its cause; what is left under a hypothesis does",
        "2": "several causes give numbers of this size; what is left tells them apart",
        "3": "whoever knows how large a rounding is does not look for its cause",
        "4": "where no hypothesis is right, the sign of d says more than its size",
        "5": "these hypotheses are about the engine, and the fault may be on the other side",
        "6": "small differences have causes, too, and not only rounding of float32",
    },
    nexts={
        "1": "which hypothesis leaves next to nothing, and at which T?",
        "2": "which hypothesis leaves next to nothing?",
        "3": "how large is the first number?",
        "4": "how large is the share of differences below 0?",
        "5": "at T 1.00 the hypothesis is the model as it is: which side differs from it?",
        "6": "which column is far smaller than all others?",
    },
    hints=(
        "Read each row from left to right: which hypothesis leaves next to nothing of what the "
        "engine reports? At T 1.00 it is the model as it is, so nothing is wrong with the engine.",
        "Where none does: which sign do the differences have? Where the engine is fine and "
        "mean |d| is not 0, look at the trainer.",
        "In two rows T 1.00 leaves 0: in one of them mean |d| is 0, in the other it is several "
        "nats. Three rows have a column of their own that leaves next to nothing. In the row that "
        "remains no column does: look at its share below 0.",
    ),
)
