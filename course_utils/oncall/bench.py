"""Scores a program on unseen tickets, each in a sandboxed copy with a time limit.

Tickets come from a secret seed. Results are kept line by line, so that a call that was stopped goes
on where it was; the answer to a ticket is in no file that a program can read.
"""

import contextlib
import hashlib
import json
import secrets
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from course_utils.box.kind import Kind
from course_utils.errors import BadRequest, Unsupported
from course_utils.oncall import cases
from course_utils.oncall import folder as folders
from course_utils.oncall.check import check
from course_utils.oncall.desk import Desk
from course_utils.oncall.proving import Judge
from course_utils.oncall.sandbox import run
from course_utils.oncall.training import Trainers
from course_utils.shown.report import Table

RESULTS, PROTOCOL = "results.jsonl", "protocol.json"
PRIVATE = (folders.KEPT,)  # what a program must not see


@dataclass(frozen=True)
class Protocol:
    """The conditions of a score; scores under the same protocol can be compared.

    Attributes:
        seed_mark: tells secret seeds apart without giving them away.
        num: tickets per level.
        readable: what it could read although that is hidden.
        walls: whether answers were hidden from it.
        budget: looks that a ticket allows; None where its files are open.
    """

    command: tuple[str, ...]
    levels: tuple[int, ...]
    num: int
    limit_s: float
    network: bool
    seed_mark: str
    readable: tuple[str, ...] = ()
    walls: bool = True
    budget: int | None = None


@dataclass(frozen=True)
class Score:
    """A program's result on one ticket, and what it cost: seconds by the clock, and looks."""

    name: str  # level and number
    level: int
    fixed: bool
    places: int
    classes: int
    faults: int
    solved: bool
    seconds: float
    ended: str  # "code 0", or "time"
    problem: str
    looks: int | None = None  # None where looks are free


def secret_seed(path: Path) -> int:
    """The seed in that file, which is created if it is missing.

    Raises:
        BadRequest: it holds something else.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(str(secrets.randbelow(2**48)))
    try:
        return int(path.read_text().strip())
    except ValueError as error:
        raise BadRequest(
            f"{path} holds no seed",
            why="the tickets are drawn from the whole number in it",
            fix="give a file with one number, or one that does not exist yet",
        ) from error


def seed_mark(seed: int) -> str:
    """A few letters that tell one secret seed from another.

    >>> len(seed_mark(1))
    12
    """
    return hashlib.sha256(f"bench {seed}".encode()).hexdigest()[:12]


def ask_for_walls(kind: Kind) -> None:
    """Refuse to score a program that could read the answers.

    Raises:
        Unsupported: there are no walls here.
    """
    if not kind.has_walls:
        raise Unsupported(
            f"this machine can make no box: {kind.saw}",
            why="COMMAND would run with your rights: it could read the answers to its tickets, and "
            "do whatever you can do",
            fix="install bubblewrap, or give --without-walls for a program that you trust; its "
            "results say so",
        )


def tickets(seed: int, levels: tuple[int, ...], num: int) -> Iterator[tuple[str, folders.Ticket]]:
    """Tickets with their names: `num` cases of every level, or all there are; none twice."""
    for level in levels:
        known = [name for name in cases.proved() if cases.load(name).level == level]
        known.sort(key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).hexdigest())
        for number, name in enumerate(known[:num]):
            drawn = hashlib.sha256(f"{seed} {level} {number}".encode()).hexdigest()
            yield (
                f"{level}.{number + 1}",
                folders.ticket_of(int(drawn[:7], 16), level, cases.load(name)),
            )


def read_scores(out: Path) -> dict[str, Score]:
    """The scores in a folder, by ticket; an incomplete last line does not count."""
    path, scores = out / RESULTS, {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for line in lines:
        try:
            score = Score(**json.loads(line))
        except (ValueError, TypeError):
            continue
        scores[score.name] = score
    return scores


class StoredScores:
    """The results in a folder.

    Raises:
        BadRequest: they are of another command, seed or limit.
    """

    def __init__(self, out: Path, protocol: Protocol) -> None:
        self.path = out / RESULTS
        out.mkdir(parents=True, exist_ok=True)
        said, noted = json.dumps(asdict(protocol)), out / PROTOCOL
        if noted.exists() and json.loads(noted.read_text()) != json.loads(said):
            raise BadRequest(
                f"{out} holds results of another command, seed or limit",
                why="scores that are made in different ways cannot stand in one table",
                fix="name another folder with --out",
            )
        noted.write_text(said)

    def read(self) -> dict[str, Score]:
        return read_scores(self.path.parent)

    def add(self, score: Score) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"\n{json.dumps(asdict(score))}\n")


def scores(
    protocol: Protocol,
    seed: int,
    out: Path,
    trainers: Trainers,
    *,
    writable: tuple[Path, ...] = (),
    hidden: tuple[Path, ...] = (),
) -> Iterator[Score]:
    """One score per ticket, those of an earlier call first.

    Args:
        writable: folders that the program may write to, beside its copy.
        hidden: what it must not see, such as the file of the seed.
    """
    kept, judge = StoredScores(out, protocol), Judge(trainers)
    done = kept.read()
    yield from done.values()
    for name, ticket in tickets(seed, protocol.levels, protocol.num):
        if name in done:
            continue
        score = _scored(name, ticket, protocol, judge, writable, (out.absolute(), *hidden))
        kept.add(score)
        yield score


def _scored(name, ticket, protocol: Protocol, judge: Judge, writable, hidden) -> Score:
    with tempfile.TemporaryDirectory(prefix="course-ticket-") as parent:
        folder, kept = Path(parent) / "ticket", Path(parent) / "kept"
        where = kept if protocol.budget else folder  # of the ticket that is judged
        folders.write(where, ticket, judge.trainers)
        desk = Desk(kept, folder, protocol.budget) if protocol.budget else None
        for private in () if desk else PRIVATE:
            (folder / private).unlink()
        with desk or contextlib.nullcontext():
            start = time.monotonic()
            ended = run(
                list(protocol.command),
                folder,
                kind=judge.trainers.kind,
                limit_s=protocol.limit_s,
                network=protocol.network,
                writable=writable,
                readable=tuple(map(Path, protocol.readable)),
                hidden=(kept, *hidden),
            )
            seconds = time.monotonic() - start
        outcome = check(where, ticket, lambda: judge, report_alone=True)
        looks = desk and desk.spent
        shutil.rmtree(folder, ignore_errors=True)
    told = outcome.to_dict()
    return Score(
        name=name,
        level=ticket.level,
        **{key: told[key] for key in ("fixed", "places", "classes", "faults", "solved")},
        seconds=round(seconds, 1),
        ended="time" if ended.code is None else f"code {ended.code}",
        problem="; ".join([*told["problems"], outcome.reported.problem])[:300],
        looks=looks,
    )


def table(found: list[Score]) -> Table:
    """One row per level and one for all: shares fixed, places and classes named, shares solved."""
    costs = [name for name in COSTS if all(getattr(score, name) is not None for score in found)]
    rows = []
    for level in (*sorted({score.level for score in found}), None):
        own = [score for score in found if level in (score.level, None)]
        faults = sum(score.faults for score in own)
        rows.append(
            (
                "all" if level is None else str(level),
                str(len(own)),
                *(f"{sum(getattr(s, name) for s in own)} of {faults}" for name in COUNTED),
                *(f"{sum(getattr(s, name) for s in own)} of {len(own)}" for name in SHARES),
                *(f"{statistics.median(getattr(s, name) for s in own):.0f}" for name in costs),
            )
        )
    columns = ("level", "tickets", *COUNTED, *SHARES, *(COSTS[name] for name in costs))
    return Table(columns=columns, rows=rows)


COUNTED, SHARES = ("places", "classes"), ("fixed", "solved")
COSTS = {"seconds": "median s", "looks": "median looks"}
