"""The closing quiz of a lesson: two questions, three letters each."""

from course_utils.checks.compare import letter_differs, letter_in
from course_utils.checks.declare import Criterion, Exercise

LETTERS = "abc"


def has_two_letters(quiz: dict) -> str | None:
    """The form of a quiz's answer: one of three letters for each question, and nothing else."""
    asked = f"one of {', '.join(LETTERS)} is asked for each of 1 and 2"
    for key, given in quiz.items():
        if str(key) not in ("1", "2"):
            return f"there is no question {key!r}; {asked}"
        if not isinstance(given, str) or letter_in(given) not in tuple(LETTERS):
            return f"for {key} it says {given!r}; {asked}"
    missing = [number for number in "12" if number not in map(str, quiz)]
    return f"{missing[0]} is missing; {asked}" if missing else None


def two_letters(
    id: str,
    right: str,
    *,
    hints: tuple[str, ...],
    whys: tuple[str, str],
    nexts: tuple[str, str],
    minutes: int = 2,
) -> Exercise:
    """A quiz whose right letters are `right`, such as "bc".

    >>> two_letters("99.1", "bc", hints=(), whys=("", ""), nexts=("", "")).answer
    {'1': 'b', '2': 'c'}
    """

    def quiz_first(quiz) -> str | None:
        return letter_differs(quiz, "1", right[0])

    def quiz_second(quiz) -> str | None:
        return letter_differs(quiz, "2", right[1])

    looks = (quiz_first, quiz_second)
    return Exercise(
        id=id,
        name="QUIZ",
        title="Next time",
        minutes=minutes,
        difficulty="two letters",
        points=2,
        reads="quiz",
        expects=(dict,),
        asks_apart=True,
        hints=hints,
        form=has_two_letters,
        criteria=tuple(
            Criterion(f"Question {number} is answered rightly.", look, why=why, next=go_on)
            for number, look, why, go_on in zip("12", looks, whys, nexts, strict=True)
        ),
        answer={"1": right[0], "2": right[1]},
    )
