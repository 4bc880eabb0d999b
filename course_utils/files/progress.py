"""A student's progress, in one small JSON file that survives damage and full disks.

Writes are atomic, two notebooks may write at once, and a damaged file is set aside, never lost.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from course_utils.files.saving import write_atomically
from course_utils.shown.wrap import say

FILE_NAME = ".progress.json"
KINDS = ("exercises", "predictions", "votes", "sources", "draws")  # what the file holds, by id
ENV_NAME = (
    "COURSE_PROGRESS"  # runs and grades point it elsewhere, so they never touch the student's
)


def default_path() -> Path:
    """The file beside the notebook that is running, unless the environment names another."""
    return Path(os.environ.get(ENV_NAME) or Path.cwd() / FILE_NAME)


class Progress:
    """The progress file at `path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     progress = Progress(Path(folder) / FILE_NAME)
    ...     progress.record_check("03.1", outcome="passed", points=4)
    ...     progress.exercise("03.1")["best"]
    4
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def exercise(self, exercise_id: str) -> dict:
        """The record of one exercise: outcome, best points, attempts, hints taken."""
        fresh = {"outcome": "not attempted", "best": 0, "attempts": 0, "hints": 0}
        return fresh | self.read()["exercises"].get(exercise_id, {})

    def record_check(self, exercise_id: str, *, outcome: str, points: int) -> None:
        """Record a check's outcome. A pass is never undone; an untouched stub is no attempt."""

        def change(entry: dict) -> None:
            entry["attempts"] += outcome != "not attempted"
            entry["best"] = max(entry["best"], points)
            if entry["best"]:
                entry["outcome"] = "passed"
            elif outcome != "not attempted" or entry["attempts"] == 0:
                entry["outcome"] = outcome

        self._change_exercise(exercise_id, change)

    def take_hint(self, exercise_id: str) -> int:
        """Count one more hint as taken and return the new number."""
        self._change_exercise(exercise_id, lambda entry: entry.update(hints=entry["hints"] + 1))
        return self.exercise(exercise_id)["hints"]

    def record_prediction(self, prediction_id: str, choice: str) -> None:
        self._update(lambda data: data["predictions"].update({prediction_id: choice}))

    def prediction(self, prediction_id: str) -> str | None:
        return self.read()["predictions"].get(prediction_id)

    def record_votes(self, topic: str, votes: dict[str, str]) -> None:
        """Store the votes on a topic's claims, such as {"C1": "t!"}, in place of earlier ones."""
        self._update(lambda data: data["votes"].update({topic: votes}))

    def votes(self, topic: str) -> dict[str, str]:
        return self.read()["votes"].get(topic, {})

    def keep_source(self, exercise_id: str, variant: str, source: str) -> None:
        """Keep the source of an answer that passed, so that a restart does not lose it."""
        self._update(
            lambda data: data["sources"].setdefault(exercise_id, {}).update({variant: source})
        )

    def sources(self, exercise_id: str) -> dict[str, str]:
        """The kept source of each passed variant of one exercise."""
        return self.read()["sources"].get(exercise_id, {})

    def record_draw(self, exercise_id: str, seed: int) -> None:
        """Record which variant of an exercise the reader works on."""
        self._update(lambda data: data["draws"].update({exercise_id: seed}))

    def draw(self, exercise_id: str) -> int:
        return self.read()["draws"].get(exercise_id, 0)

    def forget(self, item_id: str) -> None:
        """Delete the record of one exercise, prediction or topic; no two have the same id."""
        self._update(lambda data: [known.pop(item_id, None) for known in data.values()])

    def read(self) -> dict:
        """The whole file as data: every entry that is sound; empty without a file.

        What is not sound is kept beside it and left out, and a sentence says so.
        """
        empty = {kind: {} for kind in KINDS}
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return empty
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            self._set_aside(empty)
            return empty
        found = {kind: data.get(kind, {}) for kind in KINDS}  # files of earlier versions lack some
        sound = {kind: _sound(kind, entries) for kind, entries in found.items()}
        if sound != found:
            self._set_aside(sound)
        return sound

    def _change_exercise(self, exercise_id: str, change: Callable[[dict], None]) -> None:
        def apply(data: dict) -> None:
            fresh = {"outcome": "not attempted", "best": 0, "attempts": 0, "hints": 0}
            entry = fresh | data["exercises"].get(exercise_id, {})
            change(entry)
            data["exercises"][exercise_id] = entry

        self._update(apply)

    def _update(self, change: Callable[[dict], object]) -> None:
        """Read, change and replace the file under a lock; say so when it cannot be written."""
        try:
            with FileLock(f"{self.path}.lock", timeout=10):
                data = self.read()
                change(data)
                write_atomically(self.path, json.dumps(data, indent=1))
        except OSError as error:
            say(
                f"Progress could not be saved in {self.path.name}: {error.strerror or error}. "
                "Nothing saved before is lost; free some space or make the folder writable."
            )

    def _set_aside(self, sound: dict) -> None:
        """Keep the damaged file under another name, and go on with its sound entries."""
        number = 1
        while (kept := self.path.with_name(f"{self.path.stem}.damaged-{number}.json")).exists():
            number += 1
        num_sound = sum(map(len, sound.values()))
        try:
            self.path.rename(kept)
            if num_sound:
                write_atomically(self.path, json.dumps(sound, indent=1))
        except FileNotFoundError:  # another notebook has just set it aside
            return
        except OSError as error:
            print(f"The progress file is damaged, and cannot be replaced: {error.strerror}.")
            return
        rest = (
            f"its {num_sound} sound entries are taken over" if num_sound else "a new one is started"
        )
        print(f"The progress file was damaged. It is kept as {kept.name}; {rest}.")


def _sound(kind: str, entries: object) -> dict:
    """The entries of one kind that have the form this module writes."""
    if not isinstance(entries, dict):
        return {}
    return {name: entry for name, entry in entries.items() if IS_SOUND[kind](entry)}


def _is_exercise(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    counts = [entry.get(name, 0) for name in ("best", "attempts", "hints")]
    is_text = _is_text(entry.get("outcome", ""))
    return is_text and all(type(count) is int and count >= 0 for count in counts)


def _is_text(entry: object) -> bool:
    return isinstance(entry, str)


def _is_texts(entry: object) -> bool:
    return isinstance(entry, dict) and all(map(_is_text, entry.values()))


IS_SOUND = {
    "exercises": _is_exercise,
    "predictions": _is_text,
    "votes": _is_texts,
    "sources": _is_texts,
    "draws": lambda entry: type(entry) is int,
}
