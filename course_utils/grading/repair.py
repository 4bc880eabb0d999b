"""Matches a student's cells to the lesson's, even when ids and roles were lost.

An answer is recognised by what speaks for it: its cell's id, its role, its first line, the name it
defines; where nothing does, by its place between cells that are known. Executes nothing.
"""

import re
from collections import Counter
from dataclasses import replace
from difflib import SequenceMatcher

from course_utils.errors import BadNotebook
from course_utils.grading.handout import Handout, HandoutCell
from course_utils.grading.submission import Submission, SubmittedCell
from course_utils.notebook.lesson_source import ANSWER
from course_utils.notebook.regions import defined_names

HEAD = re.compile(r"\s*# Exercise (\d\d\.\d+): your answer")
# Each outweighs all after it together, but for an id: all the others together outweigh that.
WEIGHTS = {"id": 6, "role": 4, "first line": 2, "name": 1}
PLACE = "place"
Cells = tuple[HandoutCell, ...]


def repaired(handout: Handout, submission: Submission) -> Submission:
    """`submission` with the lesson's ids and roles on each cell that belongs to the lesson.

    Every other cell has no id afterwards. How an answer was found is noted when not by its id.

    Raises:
        BadNotebook: two cells are equally good for the answer of one exercise.
    """
    lesson, theirs = handout.cells, submission.cells
    answers, notes = _answers(handout, submission)
    mine = _known_by_id(lesson, theirs, answers) | answers
    mine |= _equal(lesson, theirs, mine)
    for place, number in _by_place(lesson, theirs, mine).items():
        mine[place] = number
        notes += _note(lesson[place].exercise, PLACE)
    lesson_of = {number: place for place, number in mine.items()}
    cells = tuple(
        _named(cell, lesson[lesson_of[n]]) if n in lesson_of else replace(cell, id="")
        for n, cell in enumerate(theirs)
    )
    return replace(submission, cells=cells, notes=(*submission.notes, *notes))


def _answers(handout: Handout, submission: Submission):
    """The student's cell number for each answer cell of the lesson, by all evidence."""
    places = {c.exercise: n for n, c in enumerate(handout.cells) if c.is_answer}
    ids = {handout.cells[place].id: exercise for exercise, place in places.items()}
    reads = {e.reads: e.id for e in handout.source.lesson.exercises if e.id in places}
    spoken = [_what_speaks(cell, ids, reads) for cell in submission.cells]
    found, notes = {}, []
    for exercise, place in places.items():
        weights = {n: _weight(said, exercise) for n, said in enumerate(spoken)}
        heaviest = max((w for n, w in weights.items() if n not in found.values()), default=0)
        best = [n for n, w in weights.items() if w == heaviest and n not in found.values()]
        if not heaviest:
            continue
        if len(best) == 1:
            found[place] = best[0]
            said = [kind for kind, of in spoken[best[0]].items() if exercise in of]
            notes += [] if "id" in said else _note(exercise, " and ".join(said))
        elif heaviest == WEIGHTS["name"]:
            notes.append(f"{len(best)} cells may be the answer of exercise {exercise}: none is")
        else:
            raise _copies(len(best), exercise)
    return found, notes


def _copies(count: int, exercise: str) -> BadNotebook:
    return BadNotebook(
        f"the notebook has {count} answer cells of exercise {exercise}",
        why="the original is gone, and nobody can tell which copy is meant",
        fix="delete all but one of them",
    )


def _what_speaks(cell: SubmittedCell, ids: dict, reads: dict) -> dict[str, set[str]]:
    """The exercises that a cell may answer, by kind of evidence."""
    if cell.kind == "markdown" and cell.id not in ids:
        return {}
    head = HEAD.match(cell.source)
    return {
        "id": {ids[cell.id]} if cell.id in ids else set(),
        "role": {cell.exercise} if cell.role == ANSWER else set(),
        "first line": {head[1]} if head else set(),
        "name": {reads[name] for name in _names(cell.source) if name in reads},
    }


def _weight(said: dict[str, set[str]], exercise: str) -> int:
    """The weight of the evidence for `exercise`; nothing if another has more."""
    weights = Counter()
    for kind, exercises in said.items():
        weights.update(dict.fromkeys(exercises, WEIGHTS[kind]))
    return weights[exercise] if weights[exercise] == max(weights.values(), default=0) else 0


def _names(source: str) -> set[str]:
    try:
        return set(defined_names(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()


def _known_by_id(lesson: Cells, theirs, answers: dict[int, int]) -> dict[int, int]:
    taken = set(answers.values())
    by_id = {cell.id: n for n, cell in enumerate(theirs) if cell.id and n not in taken}
    return {
        place: by_id[cell.id]
        for place, cell in enumerate(lesson)
        if cell.id in by_id and place not in answers and not cell.is_answer
    }


def _equal(lesson: Cells, theirs, mine: dict[int, int]) -> dict[int, int]:
    """Cells of the lesson that are there word for word, in order, without their id."""
    taken = set(mine.values())
    ours = [("", n) if n in mine else (c.kind, c.source) for n, c in enumerate(lesson)]
    others = [(n, "") if n in taken else (c.kind, c.source) for n, c in enumerate(theirs)]
    blocks = SequenceMatcher(None, ours, others, autojunk=False).get_matching_blocks()
    return {b.a + step: b.b + step for b in blocks for step in range(b.size)}


def _by_place(lesson: Cells, theirs, mine: dict[int, int]) -> dict[int, int]:
    """Answer cells without evidence: as many cells stand between their neighbours."""
    found, taken = {}, set(mine.values())
    missing = [n for n, cell in enumerate(lesson) if cell.is_answer and n not in mine]
    for place in missing:
        before = max((n for n in mine if n < place), default=None)
        after = min((n for n in mine if n > place), default=None)
        first = -1 if before is None else mine[before]
        last = len(theirs) if after is None else mine[after]
        gap = [n for n in range(first + 1, last) if n not in taken and theirs[n].kind == "code"]
        wanted = [
            n
            for n in range((before if before is not None else -1) + 1, after or len(lesson))
            if n not in mine and lesson[n].kind == "code"
        ]
        if len(gap) == len(wanted):
            found[place] = gap[wanted.index(place)]
    return found


def _named(cell: SubmittedCell, known: HandoutCell) -> SubmittedCell:
    return replace(cell, id=known.id, role=known.role, exercise=known.exercise)


def _note(exercise: str, by: str) -> list[str]:
    return [f"the answer of exercise {exercise} has lost its id and was found by its {by}"]
