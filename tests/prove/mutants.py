"""Says what `make test` misses when the code of a check or a judge is wrong.

    python -m tests.prove.mutants [--number N] [--seed S] [--part K/N] [--jobs J] [--keep F] [WORD]

A mutant is a module with one small change. It is killed when a test that reaches the module fails.
The tests run as `make test` runs them and, if none fails, with all cases. Of the mutants that
all cases kill, `make test` has to kill 80 %; less, and the exit status is 1. What came of a mutant
is kept under a digest of its source and of its tests, so a call that was stopped goes on. With
WORDs, only the mutants drawn in a module that has one of them in its path.
"""

import argparse
import hashlib
import json
import multiprocessing
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from course_utils.shown.report import Table
from tests.prove.forked_pytest import ROOT, NotJudged, first_failure, import_libraries
from tests.prove.mutation import Mutant, draw, mutated

MIN_SHARE = 0.8
LIMIT_S = 3600.0  # for all tests that reach a module
KEPT = ROOT / "build" / "prove" / "mutants.jsonl"
EXERCISE_ID = re.compile(r'\bid="(\d\d\.\d+)"')
COLUMNS = ("room", "mutants", "killed by the whole proof", "of these by make test", "share")


@dataclass(frozen=True)
class Room:
    """Modules that check or judge, and where the tests are that reach them.

    Args:
        weight: how many of its mutants are drawn, beside those of the other rooms.
    """

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    weight: int = 1


ROOMS = (
    Room(
        "exercises",
        ("course_utils/exercises/lesson_*.py", "course_utils/exercises/lesson_*/[!_]*.py"),
        ("tests/exercises/test_*.py", "tests/grading/test_judge.py"),
        weight=3,
    ),
    Room(
        "checks",
        ("course_utils/checks/[!_]*.py",),
        ("tests/checks/test_*.py", "tests/exercises/test_*.py"),
    ),
    Room(
        "grading",
        (
            "course_utils/grading/judge/[!_]*.py",
            "course_utils/grading/one_submission.py",
            "course_utils/grading/result.py",
        ),
        ("tests/grading/test_*.py",),
    ),
    Room(
        "oncall",
        tuple(
            f"course_utils/oncall/{name}.py"
            for name in ("check", "judging", "measuring", "report", "result", "spread")
        ),
        ("tests/oncall/test_*.py",),
    ),
)


@dataclass(frozen=True)
class Judged:
    """What came of a mutant.

    Attributes:
        quick: the first test that failed when they ran as `make test` runs them, or "".
        whole: the same with all cases.
    """

    digest: str
    room: str
    path: str
    line: int
    was: str
    now: str
    quick: str
    whole: str


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.prove.mutants")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--number", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="K/N")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=KEPT)
    asked = parser.parse_args()
    part, of = asked.part
    drawn = {
        digest_of(room, mutant): (room, mutant)
        for room, mutant in draw_all(asked.number, asked.seed)[part - 1 :: of]
        if not asked.words or any(word in mutant.path for word in asked.words)
    }
    missing = [one for digest, one in drawn.items() if digest not in kept(asked.keep)]
    print(f"{len(missing)} of {len(drawn)} mutants are not judged yet.", flush=True)
    judge_all(missing, asked.keep, asked.jobs)
    judged = kept(asked.keep)
    found = [judged[digest] for digest in drawn if digest in judged]
    print(Table(columns=COLUMNS, rows=rows(found)))
    print_survivors(found)
    print(f"{len(drawn) - len(found)} of {len(drawn)} mutants could not be judged.")
    return int(share(found) < MIN_SHARE)


def draw_all(number: int, seed: int) -> list[tuple[Room, Mutant]]:
    """Mutants of all rooms by their weights, in each room of one module after the other."""
    rng, found = random.Random(seed), []
    modules = {room.name: _endless(room, rng) for room in ROOMS}
    while len(found) < number:
        [room] = rng.choices(ROOMS, [room.weight for room in ROOMS])
        path, turn = next(modules[room.name])
        if mutant := draw(ROOT, path, seed + 1000 * turn):
            found.append((room, mutant))
    return found


def _endless(room: Room, rng: random.Random) -> Iterator[tuple[str, int]]:
    paths = sorted(str(p.relative_to(ROOT)) for glob in room.modules for p in ROOT.glob(glob))
    rng.shuffle(paths)
    turn = 0
    while True:
        yield from ((path, turn) for path in paths)
        turn += 1


def reaching(room: Room, path: str) -> list[str]:
    """Pytest's arguments for the tests that reach a module: those that name it come first."""
    module = Path(path)
    tests = sorted({p for glob in room.tests for p in ROOT.glob(glob)})
    names = re.compile(rf"\b{module.stem}\b")
    tests.sort(key=lambda test: not names.search(test.read_text()))
    chosen = [path, *(str(test.relative_to(ROOT)) for test in tests)]
    if room.name != "exercises":
        return chosen
    ids = EXERCISE_ID.findall((ROOT / path).read_text())
    parts = [f"[{i}{end}" for i in ids for end in "-]"] or [f"[{_lesson(path)}."]
    return [*chosen, "-k", " or ".join((module.name, *parts))]


def _lesson(path: str) -> str:
    return re.search(r"lesson_(\d\d)", path)[1]


def digest_of(room: Room, mutant: Mutant) -> str:
    """Of the mutant's source and of the tests that reach it."""
    answers = f"lesson_{_lesson(mutant.path)}" if room.name == "exercises" else ""
    globs = (*room.tests, f"tests/answers/{answers}*.py", f"tests/answers/{answers}*/*.py")
    tests = sorted(path for glob in globs for path in ROOT.glob(glob))
    sources = [mutant.path, mutant.source, *(path.read_text() for path in tests)]
    return hashlib.sha256("\0".join(sources).encode()).hexdigest()[:24]


def kept(file: Path) -> dict[str, Judged]:
    """What came of the mutants of this call and of earlier ones, by digest."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {(judged := Judged(**json.loads(line))).digest: judged for line in lines}


def judge_all(missing: list[tuple[Room, Mutant]], keep: Path, jobs: int) -> None:
    """Judge them in `jobs` processes, each with a copy of the course; append what came of each."""
    keep.parent.mkdir(parents=True, exist_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background jobs ignore the first
        signal.signal(number, signal.default_int_handler)
    children = [
        multiprocessing.get_context("fork").Process(target=_work, args=(missing[job::jobs], keep))
        for job in range(min(jobs, len(missing)))
    ]
    try:
        for child in children:
            child.start()
        for child in children:
            child.join()
            if child.exitcode:
                raise RuntimeError(f"a process ended with {child.exitcode}; its error is above")
    except BaseException:
        for child in children:
            child.terminate()
            child.join()
        raise


def _work(mine: list[tuple[Room, Mutant]], keep: Path) -> None:
    import_libraries()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = copy_of(ROOT, Path(folder).resolve() / "course")
        for number, (room, mutant) in enumerate(mine, 1):
            try:
                quick, whole = judge(copy, mutant, reaching(room, mutant.path), number)
            except NotJudged as reason:
                print(f"{mutant.path}:{mutant.line}: {mutant.now}: {reason}", flush=True)
                continue
            shown = {name: x for name, x in asdict(mutant).items() if name != "source"}
            judged = Judged(digest_of(room, mutant), room.name, **shown, quick=quick, whole=whole)
            with keep.open("a") as lines:
                lines.write(json.dumps(asdict(judged)) + "\n")
            said = "make test" if quick else "the whole proof alone" if whole else "nothing"
            print(f"[{number}/{len(mine)}] {mutant.path}:{mutant.line}: {said}", flush=True)


def copy_of(root: Path, copy: Path) -> Path:
    """A copy of what git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name)
    return copy


def judge(copy: Path, mutant: Mutant, tests: list[str], number: int = 1) -> tuple[str, str]:
    """The first test that fails as `make test` runs them, and with all cases; "" for none.

    Raises:
        NotJudged: that test fails without the mutant too, or none ended in time.
    """
    for is_whole in (False, True):
        with mutated(copy, mutant, number):
            failed = first_failure(copy, tests, is_whole=is_whole, limit_s=LIMIT_S)
        if failed:
            once_more = [failed] if "::" in failed else [failed, "--collect-only"]
            if first_failure(copy, once_more, is_whole=is_whole, limit_s=LIMIT_S):
                raise NotJudged(f"{failed} fails without it too")
            return ("" if is_whole else failed), failed
    return "", ""


def rows(found: list[Judged]) -> list[tuple[str, ...]]:
    """A line for each room, and one for all."""
    rooms = {room.name: [one for one in found if one.room == room.name] for room in ROOMS}
    return [
        (name, str(len(of)), str(len(_killed(of))), str(sum(bool(x.quick) for x in of)), _said(of))
        for name, of in {**rooms, "all": found}.items()
    ]


def _killed(found: Iterable[Judged]) -> list[Judged]:
    return [one for one in found if one.whole]


def _said(found: list[Judged]) -> str:
    return f"{share(found):.0%}" if _killed(found) else "none killed"


def share(found: list[Judged]) -> float:
    """Of the mutants that the whole proof kills, the share that `make test` kills."""
    killed = _killed(found)
    return sum(bool(one.quick) for one in killed) / len(killed) if killed else 0.0


def print_survivors(found: list[Judged]) -> None:
    late = [one for one in found if one.whole and not one.quick]
    for title, some in (
        ("Killed by the whole proof alone:", late),
        ("Killed by nothing:", [one for one in found if not one.whole]),
    ):
        print(f"\n{title}")
        for one in sorted(some, key=lambda one: (one.path, one.line)):
            print(f"{one.path}:{one.line}\n  - {one.was}\n  + {one.now}")
            if one.whole:
                print(f"  by {one.whole}")
    print()


def _part(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"a part is K/N with K from 1 to N, and this is {text!r}")
    return int(found[1]), int(found[2])


if __name__ == "__main__":
    sys.exit(main())
