"""Exercise 06.4: five broken snippets, one message, five causes."""

from course_utils.checks.compare import letter_differs
from course_utils.checks.declare import Criterion, Exercise

WHY = "the words of the message are the same for all five, and the remedies are not"
CAUSES = {"1": "d", "2": "e", "3": "c", "4": "a", "5": "b"}
LETTERS = "abcde"


def five_letters(causes) -> str | None:
    keys = {str(key) for key in causes}
    if keys != set(CAUSES):
        return f"the keys are {sorted(keys)}, and the five snippets are {sorted(CAUSES)}"
    for key, letter in causes.items():
        if str(letter).strip().lower() not in tuple(LETTERS):
            return f"{letter!r} for {key} is not one of the letters {', '.join(LETTERS)}"
    return None


def names_first(causes) -> str | None:
    return letter_differs(causes, "1", CAUSES["1"])


def names_second(causes) -> str | None:
    return letter_differs(causes, "2", CAUSES["2"])


def names_third(causes) -> str | None:
    return letter_differs(causes, "3", CAUSES["3"])


def names_fourth(causes) -> str | None:
    return letter_differs(causes, "4", CAUSES["4"])


def names_fifth(causes) -> str | None:
    return letter_differs(causes, "5", CAUSES["5"])


NAMES = Exercise(
    id="06.4",
    name="NAMES",
    title="Five causes of one message",
    minutes=3,
    difficulty="five letters",
    points=2,
    reads="causes",
    expects=(dict,),
    hints=(
        "In each snippet, go back from the loss: which is the first tensor that requires grad?",
        "Ask of each: are there trainable weights; is a graph recorded; does a tensor leave it; "
        "is the last operation one that has a derivative?",
        "Snippet 1 is d, and 4 is a. Which of the others makes plain numbers on the way?",
    ),
    form=five_letters,
    criteria=(
        Criterion(
            "Snippet 1 is named rightly.",
            names_first,
            why=WHY,
            next="read what it says to the whole model",
        ),
        Criterion(
            "Snippet 2 is named rightly.",
            names_second,
            why=WHY,
            next="ask which of its lines a graph is recorded for",
        ),
        Criterion(
            "Snippet 3 is named rightly.",
            names_third,
            why=WHY,
            next="look at what is added up: a tensor or a float?",
        ),
        Criterion(
            "Snippet 4 is named rightly.",
            names_fourth,
            why=WHY,
            next="ask of each operation for its derivative",
        ),
        Criterion(
            "Snippet 5 is named rightly.",
            names_fifth,
            why=WHY,
            next="look up what from_pretrained assumes about your plans",
        ),
    ),
    answer=CAUSES,
)
