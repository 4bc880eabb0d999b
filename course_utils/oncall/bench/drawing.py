"""Draws the tickets of a bench from a secret seed, and writes them: broken runs, and healthy ones.

A healthy run looks odd and is fine. Its ticket is written as all others are, and each letter and
form of such a bench says that nothing may be wrong.
"""

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from course_utils.errors import BadRequest, GraderFailed
from course_utils.oncall import cases, judging, mechanism, no_fault, odd_but_fine, spread, templates
from course_utils.oncall import folder as folders
from course_utils.oncall.training import Trainers

HEALTHY = 0.25  # of the tickets, unless another share is asked for
MOST_DRAWS = 5  # until a run is healthy


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
    return _hash("bench", seed)[:12]


def tickets(
    seed: int, levels: tuple[int, ...], num: int, healthy: float = 0.0
) -> Iterator[tuple[str, folders.Ticket]]:
    """Tickets with their names: `num` of every level, or all there are; none twice.

    Args:
        healthy: the share of each level's tickets that are healthy. They take the places of broken
            ones; the others are those that are drawn without them.
    """
    odd = sorted(odd_but_fine.names(), key=lambda name: _hash(seed, name))
    for level in levels:
        known = [name for name in cases.proved() if cases.load(name).level == level]
        known.sort(key=lambda name: _hash(seed, name))
        by_chance = sorted(range(num), key=lambda number: _hash(seed, level, number, "healthy"))
        are_healthy = by_chance[: round(healthy * num)]
        for number in range(num):
            is_healthy = number in are_healthy and odd
            name = odd.pop() if is_healthy else known[number] if number < len(known) else None
            if name:
                drawn = int(_hash(seed, level, number)[:7], 16)
                ticket = folders.ticket_of(drawn, level, cases.load(name))
                yield f"{level}.{number + 1}", replace(ticket, level=level)


def write(
    folder: Path, ticket: folders.Ticket, trainers: Trainers, *, may_be_healthy: bool
) -> folders.Ticket:
    """Write the folder of a ticket, and return the ticket that it is.

    A healthy one is drawn again with the next seed until its own run is healthy.

    Raises:
        NotSaved, GraderFailed: see `folder.write`.
    """
    case = folders.case_of(ticket)
    if not case.faults:
        seeds = range(ticket.seed, ticket.seed + MOST_DRAWS)
        again = (folders.ticket_of(seed, case.level, case) for seed in seeds)
        sound = next((one for one in again if _is_sound(one, trainers)), None)
        if sound is None:
            raise GraderFailed(
                f"no healthy run of {case.template} can be made on this machine",
                why=f"{MOST_DRAWS} runs of it were not healthy here, where one in a hundred is not",
                fix="ask for tickets without healthy runs, with --healthy 0",
            )
        ticket = replace(sound, level=ticket.level)
    folders.write(folder, ticket, trainers)
    if may_be_healthy:
        no_fault.offer(folder, ticket)
    return ticket


def _is_sound(ticket: folders.Ticket, trainers: Trainers) -> bool:
    """Whether the run that the ticket hands out is healthy: one in a hundred is not, by chance."""
    template = templates.load(folders.case_of(ticket).template)
    files, base = folders.handed_out(ticket)[1], template.base(folders.data_seed(ticket))
    look_at = mechanism.LOOK_AT.get(template.name, "")
    trained = trainers.train(files, base, seed=folders.seed_in(files), look_at=look_at)
    return judging.judged(template, spread.load(template), trained, base).is_healthy


def _hash(*parts: object) -> str:
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()
