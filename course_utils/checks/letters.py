"""Exercises whose answer is a dict of letters: one criterion for each question."""

from course_utils.checks.compare import letter_differs, letter_in
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.watched_calls import describe


def letters_exercise(
    key: dict[str, str],
    *,
    letters: str,
    noun: str,
    whys: dict[str, str],
    nexts: dict[str, str],
    **declared: object,
) -> Exercise:
    """An exercise that asks for one letter for each key.

    Args:
        key: the right letters.
        letters: all that may be given.
        noun: what each key names, such as "Batch".
        whys, nexts: for each key, why it matters and what to try next.
        declared: the remaining fields of the Exercise.
    """

    def has_the_letters(given: dict) -> str | None:
        keys = {str(k) for k in given}
        if keys != set(key):
            return f"the keys are {sorted(keys)}, and {', '.join(key)} are asked"
        for number, letter in given.items():
            if not isinstance(letter, str) or letter_in(letter) not in tuple(letters):
                said = describe(letter)
                return f"for {number} it says {said}; one of {', '.join(letters)} is asked"
        return None

    looks = {number: _named_rightly(number, right) for number, right in key.items()}
    return Exercise(
        form=has_the_letters,
        expects=(dict,),
        asks_apart=True,
        criteria=tuple(
            Criterion(f"{noun} {n} is named rightly.", look, why=whys[n], next=nexts[n])
            for n, look in looks.items()
        ),
        answer=key,
        **declared,
    )


def _named_rightly(number: str, right: str):
    def is_named_rightly(given) -> str | None:
        return letter_differs(given, number, right)

    is_named_rightly.__name__ = f"names_{number}"
    return is_named_rightly
