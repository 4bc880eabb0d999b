"""The diary of a ticket: each check with its minutes, hints, looks. Kept in the ticket's folder."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from course_utils.files.saving import save
from course_utils.oncall.binaries import DATA
from course_utils.oncall.declare import Case
from course_utils.oncall.planting import Place

NAME = ".oncall-diary.json"


@dataclass
class Diary:
    """The checks and hints of one folder."""

    path: Path

    def read(self) -> dict:
        """The stored diary; a damaged file counts as empty."""
        fresh = {"hints": 0, "checks": []}
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return fresh
        sound = isinstance(data, dict) and type(data.get("hints")) is int
        return data if sound and isinstance(data.get("checks"), list) else fresh

    def note_check(self, opened_at: float, outcome: dict) -> None:
        minutes = round((time.time() - opened_at) / 60, 1)
        kept = {k: outcome[k] for k in ("fixed", "places", "classes", "solved")}
        self.note(checks=[*self.read()["checks"], {"minutes": minutes} | kept])

    def take_hint(self) -> int:
        """Count one more hint as taken; returns its number, from 1."""
        number = self.read()["hints"] + 1
        self.note(hints=number)
        return number

    def note(self, **entries: object) -> None:
        """Set these entries."""
        save(self.path, json.dumps(self.read() | entries, indent=1))


def hints(case: Case, planted: tuple[tuple[Place, ...], ...]) -> list[str]:
    """From a nudge to nearly the place, fault by fault."""
    found = []
    for number, places in enumerate(planted, start=1):
        own = [place for place in places if place.lines or place.file.endswith(DATA)]
        of = f"fault {number}: " if len(case.faults) > 1 else ""
        files = ", ".join(dict.fromkeys(place.file for place in own))
        lines = [f"{p.file}, lines {min(p.lines)} to {max(p.lines)}" for p in own if p.lines]
        found += [
            f"{of}it was met in {', '.join(case.faults[number - 1].threads)}; read what people saw",
            f"{of}it stands in {files}",
            f"{of}look at {'; '.join(lines) or f'what {files} holds'}",
        ]
    return found
