"""Exercise 06.4: five broken snippets, one message, five causes."""

from course_utils.checks.compare import letter_differs
from course_utils.checks.declare import Criterion, Exercise

WHY = "all five have the same message, and each needs another fix"
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
        "For each, ask: are there trainable weights? Is a graph recorded? Does a tensor leave it? "
        "Has the last operation a derivative?",
        "Snippet 1 is d, and 4 is a. Which of the others makes plain numbers on the way?",
    ),
    form=five_letters,
    criteria=(
        Criterion(
            "Snippet 1 is named correctly.",
            names_first,
            why=WHY,
            next="read what it does to the whole model",
        ),
        Criterion(
            "Snippet 2 is named correctly.",
            names_second,
            why=WHY,
            next="find the lines for which a graph is recorded",
        ),
        Criterion(
            "Snippet 3 is named correctly.",
            names_third,
            why=WHY,
            next="look at what is added up: a tensor or a float?",
        ),
        Criterion(
            "Snippet 4 is named correctly.",
            names_fourth,
            why=WHY,
            next="for each operation, ask what its derivative is",
        ),
        Criterion(
            "Snippet 5 is named correctly.",
            names_fifth,
            why=WHY,
            next="look up what from_pretrained assumes that you want to do",
        ),
    ),
    answer=CAUSES,
)
