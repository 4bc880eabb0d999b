"""Runs a program on tickets, each in a sandboxed copy with a time limit, and scores it.

The answer to a ticket is in no file that the program can read. It is judged once, at its end.
"""

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from course_utils.box.kind import Kind
from course_utils.errors import Unsupported
from course_utils.oncall import folder as folders
from course_utils.oncall.bench import drawing
from course_utils.oncall.bench.score import Score
from course_utils.oncall.bench.stored import Protocol, StoredScores
from course_utils.oncall.check import check
from course_utils.oncall.desk import Desk
from course_utils.oncall.proving import Judge
from course_utils.oncall.sandbox import run
from course_utils.oncall.training import Trainers

PRIVATE = (folders.KEPT,)  # what a program must not see


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
    for name, ticket in drawing.tickets(seed, protocol.levels, protocol.num, protocol.healthy):
        if name in done:
            continue
        score = _scored(name, ticket, protocol, judge, writable, (out.absolute(), *hidden))
        kept.add(score)
        yield score


def _scored(name, ticket, protocol: Protocol, judge: Judge, writable, hidden) -> Score:
    with tempfile.TemporaryDirectory(prefix="course-ticket-") as parent:
        folder, kept = Path(parent) / "ticket", Path(parent) / "kept"
        where = kept if protocol.budget else folder  # of the ticket that is judged
        may_be_healthy = protocol.healthy > 0
        ticket = drawing.write(where, ticket, judge.trainers, may_be_healthy=may_be_healthy)
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
