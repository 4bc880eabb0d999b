"""The closing quiz of a lesson: two questions, three letters each."""

from itertools import product

from course_utils.exercises.compare import letter_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong

LETTERS = "abc"


def two_letters(
    id: str,
    right: str,
    *,
    hints: tuple[str, ...],
    whys: tuple[str, str],
    nexts: tuple[str, str],
    minutes: int = 2,
) -> Exercise:
    """A quiz whose right letters are `right`, such as "bc"; every other letter is a wrong answer.

    >>> two_letters("99.1", "bc", hints=(), whys=("", ""), nexts=("", "")).right[0]
    {'1': 'b', '2': 'c'}
    """
    answer = {"1": right[0], "2": right[1]}

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
        hints=hints,
        criteria=tuple(
            Criterion(f"Question {number} is answered rightly.", look, why=why, next=go_on)
            for number, look, why, go_on in zip("12", looks, whys, nexts, strict=True)
        ),
        right=(
            answer,
            {number: letter.upper() for number, letter in answer.items()},
            {int(number): letter for number, letter in answer.items()},
        ),
        wrong=tuple(
            Wrong({"1": first, "2": second}, caught_by=looks[first == right[0]])
            for first, second in product(LETTERS, LETTERS)
            if first + second != right
        ),
    )
