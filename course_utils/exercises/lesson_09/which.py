"""Exercise 09.2: six pairs of a sampler and a trainer, told apart by what is left."""

from course_utils.exercises.letters import letters_exercise

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
        "5": "nats a token, and no hypothesis about the sampler explains them",
        "6": "small, of both signs, and the same format explains nearly all of it",
    },
    nexts={
        "1": "in which column does next to nothing stay?",
        "2": "in which column does next to nothing stay?",
        "3": "how large is the first number?",
        "4": "how large is the share of differences below 0?",
        "5": "what do all the columns of this pair have in common?",
        "6": "which column falls by more than any other?",
    },
    tempting={"1": "cd", "2": "bdf", "3": "d", "4": "bf", "5": "ce", "6": "ae"},
    hints=(
        "Read each row from left to right: which hypothesis takes most of the difference away?",
        "If none does: are all differences of one sign? Are they nats or thousandths?",
        "One row is at 1e-7 from the beginning; three fall in one column; of the other two, one "
        "has differences below 0 only and ends at most of the kept mass.",
    ),
)
