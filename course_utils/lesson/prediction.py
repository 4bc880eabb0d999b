"""One prediction of a lesson in a notebook: chosen before the run, shown again beside the data."""

from IPython.display import display

from course_utils.checks.declare import Prediction
from course_utils.errors import BadRequest, DidNotFail
from course_utils.files.progress import Progress
from course_utils.lesson.frozen import Frozen
from course_utils.shown.page import State
from course_utils.shown.report import Note
from course_utils.shown.wrap import say


class PredictionHandle(Frozen):
    """One question to answer before you run: `.predict("a")`, later `.recall()`."""

    def __init__(self, prediction: Prediction, progress: Progress, *, strict: bool) -> None:
        self._prediction, self._progress, self._strict = prediction, progress, strict

    def __dir__(self) -> list[str]:
        return ["predict", "recall"]

    def __repr__(self) -> str:
        return f"{self._prediction.question} Choose with .predict(letter)."

    def predict(self, choice: object) -> None:
        """Store your choice. No choice is wrong here; it is shown back when the data is in."""
        letter, choices = str(choice).strip().lower(), self._prediction.choices
        if letter == "todo":  # after a restart, the choice that was stored
            letter = self._progress.prediction(self._prediction.id) or letter
        lines = [f"{'>' if key == letter else ' '} {key}) {text}" for key, text in choices.items()]
        if letter in choices:
            self._progress.record_prediction(self._prediction.id, letter)
        elif letter == "todo":
            lines.append(
                'No prediction yet: put a letter in quotes, such as "a", in place of TODO.'
            )
        else:
            raise BadRequest(
                f"{choice!r} is not one of the choices",
                why="your prediction is shown back later",
                fix=f"give one of {', '.join(choices)}",
            )
        state = State.PLAIN if letter in choices else State.OPEN
        display(Note(state, self._prediction.question, tuple(lines)))

    def hint(self) -> None:
        """Say that there is none: a prediction is a guess, and no guess is wrong."""
        say("A prediction has no hints: choose what you expect; no choice is wrong here.")

    def recall(self, shown: str, *, holds: bool) -> None:
        """Show what you predicted beside what the data shows.

        Args:
            shown: the letter that the data speaks for.
            holds: whether it does with this seed, computed from the data.

        Raises:
            DidNotFail: `holds` is false, in a strict run.
        """
        prediction, choices = self._prediction, self._prediction.choices
        if not holds and self._strict:
            raise DidNotFail(
                f"{prediction.id}: {shown}) {choices[shown]!r} is not what this run shows",
                why="the answer to a prediction rests on what the cells compute",
                fix="look at the values above; run `course doctor` if you changed nothing",
            )
        letter = self._progress.prediction(prediction.id)
        said = f"You predicted {letter}) {choices[letter]}" if letter else "You made no prediction."
        if not holds:
            usual = f"This seed does not show it. Usually seen: {shown}) {choices[shown]}"
            display(Note(State.OPEN, prediction.question, (said, usual)))
            return
        seen = "That is what was seen." if letter == shown else f"Seen: {shown}) {choices[shown]}"
        state = State.GOOD if letter == shown else State.BAD if letter else State.OPEN
        display(Note(state, prediction.question, (said, seen)))
