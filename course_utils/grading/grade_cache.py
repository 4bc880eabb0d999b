"""Caches scores: the same code in the same version of the course is not run again.

Each verdict has its own file beside the results, named by a digest of all that it rests on:
the course, the exercise, the variant drawn, and the source of every cell that is run for it. Only
the grader writes there; what runs in the box can reach no folder of the grader's.
"""

import hashlib
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from course_utils.checks.declare import Exercise, Lesson
from course_utils.checks.report import Outcome
from course_utils.checks.time_limit import TimeLimitReached, time_limit
from course_utils.errors import NotSaved
from course_utils.files.saving import save
from course_utils.grading.judge import cell_dependencies
from course_utils.grading.judge.drawn_variant import drawn
from course_utils.grading.judge.syntax_trees import read

MAX_FILES, MAX_BYTES = 50_000, 32 * 2**10
MAX_TEXTS = 40
MAX_S = 10.0  # for one digest; what honest people hand in takes a hundredth of a second
# What depends on the answer alone. An error may also come from a machine that was slow, or full.
LASTING = (str(Outcome.PASSED), str(Outcome.WRONG), str(Outcome.NOT_ATTEMPTED))
Score = dict[str, object]


@dataclass
class GradeCache:
    """The verdicts in `folder`, valid for one course and one limit.

    Args:
        course: a digest of what decides on points.
        cell_s: seconds that a cell may take; a verdict under another limit is another one.
    """

    folder: Path
    course: str
    cell_s: float
    _num_files: int = field(default=-1, repr=False)
    _is_slow: bool = field(default=False, repr=False)  # this submission's cells

    def scores(self, lesson: Lesson, cells: list[dict], wanted: list[str]) -> dict[str, Score]:
        """The scores, by exercise, of the answers that were graded before."""
        found = {}
        for exercise in lesson.exercises:
            if exercise.id in wanted:
                keys = (self._key(lesson, exercise, cells, whole=whole) for whole in (False, True))
                known = next(filter(None, map(self._load, filter(None, keys))), None)
                found |= {exercise.id: {"exercise": exercise.id} | known} if known else {}
        return found

    def keep(self, lesson: Lesson, cells: list[dict], score: Score) -> None:
        """Store a verdict for the next equal answer; a full disk only prevents that."""
        if score["outcome"] not in LASTING or self._is_full():
            return
        [exercise] = [e for e in lesson.exercises if e.id == score["exercise"]]
        key = self._key(lesson, exercise, cells, whole=score["whole"])
        if not key:
            return
        kept = {"key": key} | {name: score[name] for name in ("outcome", "unmet", "details")}
        try:
            path = self._path(key)
            if path.is_symlink() or (path.exists() and not path.is_file()):
                path.unlink()  # a link would be followed, a pipe waited for
            save(path, json.dumps(kept))
            self._num_files += 1
        except (NotSaved, OSError):
            self._num_files = MAX_FILES

    def _key(self, lesson: Lesson, exercise: Exercise, cells: list[dict], *, whole: bool) -> str:
        """The digest, or "" where a cell cannot be read, or reading takes too long."""
        if self._is_slow:
            return ""
        try:
            with time_limit(MAX_S):
                is_readable = all(read(cell["source"]).is_readable for cell in cells)
                return self.key(lesson, exercise, cells, whole=whole) if is_readable else ""
        except TimeLimitReached:
            self._is_slow = True
            return ""

    def key(self, lesson: Lesson, exercise: Exercise, cells: list[dict], *, whole: bool) -> str:
        """A digest of everything that a verdict depends on.

        Args:
            whole: whether every cell above the check was run, not only those that are needed.
        """
        reads = {one.name: one.reads for one in lesson.exercises}
        units = (
            cell_dependencies.everything(cells, exercise.id)
            if whole
            else cell_dependencies.needed(cells, exercise.id, reads, exercise.reads)
        )
        rests_on = {
            "course": self.course,
            "cell_s": self.cell_s,
            "exercise": exercise.id,
            "drawn": drawn(cells, exercise.id, exercise.name, len(exercise.variants)),
            "written out": cell_dependencies.literal(cells, exercise.id, exercise.reads)[0],
            "whole": whole,
            "names": sorted(cell_dependencies.identifiers(cells, exercise.reads)),
            "units": [
                [cell_dependencies.is_answer(cells[unit.cell], exercise.id), unit.code.normal]
                for unit in units
            ],
        }
        return hashlib.sha256(json.dumps(rests_on).encode()).hexdigest()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _load(self, key: str) -> Score | None:
        """A verdict, or None if there is none that can be trusted."""
        try:
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            descriptor = os.open(self._path(key), flags)
            with open(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return None
                data = json.loads(file.read(MAX_BYTES + 1))
        except (OSError, ValueError, RecursionError):
            return None
        is_one = isinstance(data, dict) and data.get("key") == key
        if not is_one or data.get("outcome") not in LASTING:
            return None
        texts = [data.get("unmet"), data.get("details")]
        if not all(isinstance(some, list) and len(some) <= MAX_TEXTS for some in texts):
            return None
        if not all(isinstance(text, str) for some in texts for text in some):
            return None
        return {"outcome": data["outcome"], "unmet": texts[0], "details": texts[1]}

    def _is_full(self) -> bool:
        if self._num_files < 0:
            self._num_files = len(os.listdir(self.folder)) if self.folder.is_dir() else 0
        return self._num_files >= MAX_FILES
