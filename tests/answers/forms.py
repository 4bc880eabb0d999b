"""Answers that follow from what is asked, for exercises of one form: letters, scripts, tickets."""

from itertools import product

from course_utils.checks.broken_script import names_the_cause, names_the_place
from course_utils.checks.declare import Exercise, Observe
from course_utils.checks.quiz import LETTERS
from tests.answers import Answers, answers_of

NO_LETTERS = ("none", "ab", "d", "", None, ["a"])
MALFORMED = ({"place": "the model"}, {"cause": "z"}, {"fix": "mend it"}, {"line": 7})


def letter_answers(exercise: Exercise, *, tempting: dict[str, str]) -> None:
    """Answers to a `letters_exercise`; `tempting` are likely wrong letters for each key."""
    right, wrong = answers_of(exercise)
    key, form = exercise.answer, exercise.form
    looks = dict(zip(key, (one.observe for one in exercise.criteria), strict=True))
    first = next(iter(key))
    right({number: f" ({letter.upper()})" for number, letter in key.items()})
    right({int(number): f"{letter})" for number, letter in key.items()})
    wrong({}, caught_by=form)
    wrong({number: letter for number, letter in key.items() if number != first}, caught_by=form)
    for spoilt in ({first: "z"}, {first: [key[first]]}, {"99": "a"}):
        wrong(key | spoilt, caught_by=form)
    for number, others in tempting.items():
        for letter in others:
            wrong(key | {number: letter}, caught_by=looks[number])


def quiz_answers(exercise: Exercise) -> None:
    """Answers to a quiz of `two_letters`: every other letter is wrong."""
    right, wrong = answers_of(exercise)
    key, form = exercise.answer, exercise.form
    first_look, second_look = (one.observe for one in exercise.criteria)
    right({number: letter.upper() for number, letter in key.items()})
    right({int(number): letter for number, letter in key.items()})
    right({"1": f"{key['1']})", "2": f"({key['2']})"})
    for first, second in product(LETTERS, LETTERS):
        if first != key["1"]:
            wrong({"1": first, "2": second}, caught_by=first_look)
        elif second != key["2"]:
            wrong({"1": first, "2": second}, caught_by=second_look)
    for given in NO_LETTERS:
        wrong(key | {"2": given}, caught_by=form)
    for given in ({}, {"1": key["1"]}, key | {"3": "a"}):
        wrong(given, caught_by=form)


class Mends(Answers):
    """Answers to a broken script: each is a mend, or what it changes in a right diagnosis."""

    def _changes(self, given: object) -> dict:
        *_, mend = self.exercise.answer
        return given if isinstance(given, dict) else {mend: given}

    def _whole(self, given: object) -> dict:
        return self.exercise.answer | self._changes(given)

    def right(self, mend: object) -> object:
        self.all_right.append(self._whole(mend))
        return mend

    def right_in_capitals(self, mend: object) -> object:
        """A right mend whose place and cause are spelt in another way."""
        good = self.exercise.answer
        spelt = {"cause": f"({good['cause'].upper()})"}
        if "place" in good:
            spelt["place"] = f" {good['place'].title()}"
        self.all_right.append(good | spelt | self._changes(mend))
        return mend

    def wrong(self, *mend: object, caught_by: Observe) -> object:
        if not mend:
            return super().wrong(caught_by=caught_by)
        super().wrong(self._whole(*mend), caught_by=caught_by)
        return mend[0]

    def misdiagnoses(
        self,
        *,
        unmended: Observe | None = None,
        elsewhere: dict | None = None,
        malformed: tuple[dict, ...] = MALFORMED,
        place: Observe = names_the_place,
        cause: Observe = names_the_cause,
    ) -> None:
        """Answers of a wrong form, and a good mend with a wrong place or cause.

        `unmended` rejects the part at fault, `elsewhere` names a sound one; `place` and `cause`
        are what rejects a wrong name.
        """
        ticket, good = self.exercise.case(), self.exercise.answer
        super().wrong({}, caught_by=self.exercise.form)
        for change in malformed:
            self.wrong(change, caught_by=self.exercise.form)
        if elsewhere:
            self.wrong(elsewhere, caught_by=place)
        for letter in ticket.causes:
            if letter != good["cause"]:
                self.wrong({"cause": letter}, caught_by=cause)
        if unmended:
            self.wrong(ticket.parts[good["place"]], caught_by=unmended)


def mends_of(exercise: Exercise) -> Mends:
    return answers_of(exercise, Mends)


def exam_answers(exercise: Exercise) -> Answers:
    """Answers to a ticket of the exam; those of a wrong form are there already."""
    answers = answers_of(exercise)
    good, form = exercise.answer, exercise.form
    (file, where, _), *others = good["faults"]
    answers.wrong({}, caught_by=form)
    answers.wrong({"edits": good["edits"]}, caught_by=form)
    for change in (
        {"edits": "train.py"},
        {"edits": [("train.py", "lr")]},
        {"faults": others},
        {"faults": [*good["faults"], good["faults"][0]]},
        {"faults": [(file, where, "bug")] * len(good["faults"])},
    ):
        answers.wrong(good | change, caught_by=form)
    return answers
