"""Exercise 11.6: what an adapter that adds one says, served in six ways."""

from course_utils.checks.letters import letters_exercise

SCALE = letters_exercise(
    {"1": "a", "2": "c", "3": "d", "4": "c", "5": "b", "6": "e"},
    letters="abcde",
    noun="Serving",
    id="11.6",
    name="SCALE",
    title="What does it say?",
    minutes=6,
    difficulty="six letters",
    points=3,
    reads="says",
    whys={
        "1": "an adapter that adds nothing leaves the base, and the base adds",
        "2": "alpha is in the file, and the server multiplies by it",
        "3": "half of the change is enough for some sums and not for others",
        "4": "the change is in the weights already, and comes a second time",
        "5": "a part of the adapter can be enough, and then a score shows no harm",
        "6": "a change means something only with the weights that it was learned on",
    },
    nexts={
        "1": "which part of the adapter is multiplied by lora_B?",
        "2": "by what is the change multiplied, in training and here?",
        "3": "by what is the change multiplied, in training and here?",
        "4": "how often is the change in the weights?",
        "5": "what is left of the change, and may that be enough for some sums, or for all?",
        "6": "does the other base know the sum at all, once it is changed?",
    },
    hints=(
        "For each way: how often, or by how much, is the change in the model that answers?",
        "The change teaches +1. No change says a+b, and a change of twice the size says +2.",
        "In two of the ways the change has twice its size, in one half of it. One keeps enough of "
        "the change, and one adds the whole change to something else.",
    ),
)
