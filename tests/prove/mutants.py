"""Says what `make test` misses when the code of a check or a judge is wrong.

    python -m tests.prove.mutants [--number N] [--seed S] [--part K/N] [--jobs J] [--keep F]
                                  [--write] [WORD]

A mutant is a module with one small change. It is killed when a test that reaches the module fails.
The tests run as `make test` runs them and, if none fails, with all cases. Of the mutants that
all cases kill, `make test` has to kill 80 %; less, and the exit status is 1. What came of a mutant
is kept under a digest of its source and of its tests, so a call that was stopped goes on. With
WORDs, only the mutants drawn in a module that has one of them in its path. `--write` puts what was
found into `docs/mutants.md`.
"""

import argparse
import hashlib
import itertools
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

from benchmarks.markdown import table
from course_utils.shown.report import Table
from tests.prove.forked_pytest import ROOT, NotJudged, first_failure, import_libraries
from tests.prove.mutation import Mutant, draw, mutated
from tests.prove.reaching import ROOMS, Room, files_of, lesson_of, reaching

MIN_SHARE = 0.8
LIMIT_S = 3600.0  # for all tests that reach a module
KEPT = ROOT / "build" / "prove" / "mutants.jsonl"
PAGE = ROOT / "docs" / "mutants.md"
INTRO = f"""\
# What `make test` misses of the whole proof

Modules of checks and judges, each with one small change drawn at random: a mutant is killed when \
a test that reaches the module fails. Of what the whole proof kills, `make test` has to kill \
{MIN_SHARE:.0%}. Made by `python -m tests.prove.mutants --write`.
"""
COLUMNS = ("room", "mutants", "killed by the whole proof", "of these by make test", "share")


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
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="K/N")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=KEPT)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    part, of = asked.part
    chosen = [
        (room, path, seed)
        for room, path, seed in modules(asked.number, asked.seed)[part - 1 :: of]
        if not asked.words or any(word in path for word in asked.words)
    ]
    drawn = {}
    for room, path, seed in chosen:
        if mutant := draw(ROOT, path, seed):
            drawn[digest_of(room, mutant)] = room, mutant
    done = kept(asked.keep)
    missing = [(digest, *one) for digest, one in drawn.items() if digest not in done]
    print(f"{len(missing)} of {len(drawn)} mutants are not judged yet.", flush=True)
    judge_all(missing, asked.keep, asked.jobs)
    judged = kept(asked.keep)
    found = [judged[digest] for digest in drawn if digest in judged]
    print(Table(columns=COLUMNS, rows=rows(found)))
    print("\n".join(survivors(found)))
    unjudged = f"{len(drawn) - len(found)} of {len(drawn)} mutants could not be judged."
    print(unjudged)
    if asked.write:
        parts = (INTRO, *table(COLUMNS, rows(found)), "", unjudged, *survivors(found))
        PAGE.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    return int(share(found) < MIN_SHARE)


def modules(number: int, seed: int) -> list[tuple[Room, str, int]]:
    """Of which modules mutants are drawn, and by which seed: in each room one after the other."""
    rooms = random.Random(seed).choices(ROOMS, [room.weight for room in ROOMS], k=number)
    turns = {room.name: _endless(room, seed) for room in ROOMS}
    return [(room, *next(turns[room.name])) for room in rooms]


def _endless(room: Room, seed: int) -> Iterator[tuple[str, int]]:
    paths = [str(path.relative_to(ROOT)) for path in files_of(room.modules)]
    random.Random(f"{seed} {room.name}").shuffle(paths)
    return ((path, seed + 1000 * turn) for turn in itertools.count() for path in paths)


def digest_of(room: Room, mutant: Mutant) -> str:
    """Of the mutant's source and of the tests that reach it."""
    answers = f"lesson_{lesson_of(mutant.path)}" if room.name == "exercises" else ""
    globs = (*room.tests, f"tests/answers/{answers}*.py", f"tests/answers/{answers}*/*.py")
    sources = [mutant.path, mutant.source, *(path.read_text() for path in files_of(globs))]
    return hashlib.sha256("\0".join(sources).encode()).hexdigest()[:24]


def kept(file: Path) -> dict[str, Judged]:
    """What came of the mutants of this call and of earlier ones, by digest."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {(judged := Judged(**json.loads(line))).digest: judged for line in lines}


def judge_all(missing: list[tuple[str, Room, Mutant]], keep: Path, jobs: int) -> None:
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


def _work(mine: list[tuple[str, Room, Mutant]], keep: Path) -> None:
    import_libraries()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = copy_of(ROOT, Path(folder).resolve() / "course")
        for number, (digest, room, mutant) in enumerate(mine, 1):
            try:
                quick, whole = judge(copy, mutant, reaching(room, mutant.path), number)
            except NotJudged as reason:
                print(f"{mutant.path}:{mutant.line}: {mutant.now}: {reason}", flush=True)
                continue
            shown = {name: x for name, x in asdict(mutant).items() if name != "source"}
            judged = Judged(digest, room.name, **shown, quick=quick, whole=whole)
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
    with mutated(copy, mutant, number):
        if failed := first_failure(copy, tests, is_whole=False, limit_s=LIMIT_S):
            return failed, failed
        failed = first_failure(copy, tests, is_whole=True, limit_s=LIMIT_S)
    if failed:  # nothing else proves today that all cases hold without it
        once_more = [failed] if "::" in failed else [failed, "--collect-only"]
        if first_failure(copy, once_more, is_whole=True, limit_s=LIMIT_S):
            raise NotJudged(f"{failed} fails without it too")
    return "", failed


def rows(judged: list[Judged]) -> list[tuple[str, ...]]:
    """A line for each room, and one for all."""
    rooms = {room.name: [one for one in judged if one.room == room.name] for room in ROOMS}
    return [
        (name, str(len(of)), str(len(_killed(of))), str(sum(bool(x.quick) for x in of)), _said(of))
        for name, of in {**rooms, "all": judged}.items()
    ]


def _killed(judged: Iterable[Judged]) -> list[Judged]:
    return [one for one in judged if one.whole]


def _said(judged: list[Judged]) -> str:
    return f"{share(judged):.0%}" if _killed(judged) else "none killed"


def share(judged: list[Judged]) -> float:
    """Of the mutants that the whole proof kills, the share that `make test` kills."""
    killed = _killed(judged)
    return sum(bool(one.quick) for one in killed) / len(killed) if killed else 0.0


def survivors(judged: list[Judged]) -> Iterator[str]:
    """Lines, in Markdown, of the mutants that `make test` or everything lets live."""
    late = [one for one in judged if one.whole and not one.quick]
    for title, some in (
        ("Killed by the whole proof alone", late),
        ("Killed by nothing", [one for one in judged if not one.whole]),
    ):
        yield f"\n## {title}\n"
        for one in sorted(some, key=lambda one: (one.path, one.line)):
            yield f"`{one.path}:{one.line}`{f', by `{one.whole}`' if one.whole else ''}\n"
            yield f"```diff\n- {one.was}\n+ {one.now}\n```\n"


def _part(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"a part is K/N with K from 1 to N, and this is {text!r}")
    return int(found[1]), int(found[2])


if __name__ == "__main__":
    sys.exit(main())
