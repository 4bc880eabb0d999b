"""Draws a ticket by seed and level, and writes its folder: a broken run as a colleague left it.

The folder keeps a seed and a fingerprint of the case, from which `check` finds it again; the answer
stands nowhere in it.
"""

import hashlib
import json
import re
import time
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from textwrap import fill

from course_utils.errors import BadRequest, GraderFailed
from course_utils.files.saving import save
from course_utils.oncall import cases, odd_but_fine, planting, report, templates
from course_utils.oncall.binaries import HANDED_OVER, TENSORS, as_bytes, as_text
from course_utils.oncall.declare import Case, Files
from course_utils.oncall.training import Trained, Trainers
from course_utils.shown.wrap import WIDTH

KEPT, TICKET = ".oncall.json", "ticket.md"
LEVELS = (1, 2, 3)
AS_THEY_ARE, VARIED = 1, 2  # how a ticket's files are written
MAX_BYTES, MAX_TENSORS = 2**21, 2**24
OF_THE_BOX = "Error in cpuinfo: "
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Ticket:
    """The data that a ticket's folder stores about itself."""

    seed: int
    level: int
    mark: str  # of the case, for this seed alone
    opened_at: float = 0.0
    version: int = AS_THEY_ARE  # of a folder from before there was another way
    handed: str = ""  # a digest of the files that were handed out; a folder from before has none


def draw(seed: int, level: int) -> Case:
    """The case of that level with the largest hash, so that a new case changes few draws.

    Raises:
        BadRequest: there is no such level, or no case of it.
    """
    found = [case for case in map(cases.load, cases.proved()) if case.level == level]
    if not found:
        raise BadRequest(
            f"there is no ticket of level {level}",
            why="a level says how far a symptom is from its cause, and how many faults there are",
            fix=f"choose one of {', '.join(map(str, LEVELS))}",
        )
    return max(found, key=lambda case: _mark(seed, case.id))


def _mark(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()[:20]


def case_of(ticket: Ticket) -> Case:
    """The case that a folder was drawn from.

    Raises:
        BadRequest: this version of the course has no such case.
    """
    for name in (*cases.names(), *odd_but_fine.names()):
        if _mark(ticket.seed, name) == ticket.mark:
            return cases.load(name)
    raise _of_another_version("its case is not among those that can be drawn now")


def _of_another_version(why: str) -> BadRequest:
    return BadRequest(
        "this ticket is of another version of the course",
        why=f"{why}, so nothing can be judged",
        fix="draw a new one with `course oncall new`",
    )


def data_seed(ticket: Ticket) -> int:
    """The seed of the data and the base that the ticket starts with."""
    return int(hashlib.sha256(f"{ticket.seed} handed out".encode()).hexdigest()[:6], 16)


def ticket_of(seed: int, level: int, case: Case | None = None, *, version: int = VARIED) -> Ticket:
    """The ticket of that seed, or of `case` if one is named."""
    case = case or draw(seed, level)
    return Ticket(seed, case.level, _mark(seed, case.id), round(time.time()), version)


@dataclass(frozen=True)
class Drawn:
    """What a ticket is made of.

    Attributes:
        healthy, handed: the files of the healthy run, and those of the broken one.
        places: of each fault, in the order of the case.
    """

    healthy: Files
    handed: Files
    places: tuple[tuple[planting.Place, ...], ...]


def drawn(ticket: Ticket) -> Drawn:
    """The files of a ticket, each ticket's written in its own way.

    Raises:
        BadRequest: it would be written in another way now than it was.
    """
    found = _drawn(case_of(ticket).id, ticket.seed, data_seed(ticket), ticket.version)
    if ticket.handed and ticket.handed != digest(found.handed):
        raise _of_another_version("its files would be written in another way now")
    return found


def digest(files: Files) -> str:
    """A short hash of files, names included."""
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]


@lru_cache(maxsize=16)
def _drawn(name: str, seed: int, data: int, version: int) -> Drawn:
    case = cases.load(name)
    template = templates.load(case.template)
    healthy = templates.healthy_files(template, data)
    if version == AS_THEY_ARE:
        return Drawn(healthy, planting.broken(case, healthy), planting.places(case, healthy))
    from course_utils.oncall.varying import Variation  # 0.3 s; the box starts meanwhile

    variation = Variation(planting.versions(case, healthy), seed, template.sizes)
    places = planting.places(case, healthy, variation.of, variation.place)
    return Drawn(variation.of(healthy), variation.of(planting.broken(case, healthy)), places)


def handed_out(ticket: Ticket) -> tuple[Files, Files]:
    """The files of the healthy run, and those of the ticket's broken one."""
    files = drawn(ticket)
    return dict(files.healthy), dict(files.handed)


def write(folder: Path, ticket: Ticket, trainers: Trainers) -> None:
    """Train the broken run once, and write the folder with the log it left.

    Raises:
        NotSaved: the folder cannot be written.
        GraderFailed: the run could not be made here.
    """
    case, (_, files) = case_of(ticket), handed_out(ticket)
    template = templates.load(case.template)
    base = template.base(data_seed(ticket))
    trained = trainers.train(files, base, seed=seed_in(files))
    if trained.code is None:
        raise GraderFailed(
            "the run of this ticket was ended before it had left a log",
            why="it took more time or memory than this machine gives",
            fix="try again with less running beside it, or another --seed",
        )
    texts = files | {
        TICKET: _letter(case, files, trained),
        report.NAME: report.form(len(case.faults)),
    }
    texts["run/console.log"] = without_box(trained.console)
    texts[KEPT] = json.dumps(asdict(replace(ticket, handed=digest(files))))
    binary = {f"base/{name}": data for name, data in base.items()} | trained.files
    binary |= {n: as_bytes(n, texts.pop(n)) for n in list(texts) if n.endswith(TENSORS)}
    for name, text in texts.items():
        save(folder / name, text)
    for name, data in binary.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def without_box(console: str) -> str:
    r"""A console without colours, and without messages that arise because a box has no /proc.

    >>> without_box("Error in cpuinfo: failed to parse\n{'loss': 1.0}\n")
    "{'loss': 1.0}\n"
    """
    lines = COLOUR.sub("", console).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(OF_THE_BOX))


def seed_in(files: Files) -> int:
    """The seed of config.yaml."""
    line = next(line for line in files["config.yaml"].splitlines() if line.startswith("seed:"))
    return int(line.split(":")[1].split("#")[0])


def _letter(case: Case, files: Files, trained: Trained) -> str:
    about = templates.load(case.template).about
    made = {name.split("/")[1] for name in trained.files}
    left = ", ".join(f"`{name}`" for name in ("console.log", *sorted(made, reverse=True)))
    end = "" if trained.code == 0 else " It ended with the error that the log shows."
    return f"""\
# Ticket

{fill(case.ticket, WIDTH)}

## The run

{fill(about + end, WIDTH)}

`python train.py` runs it, some seconds on a CPU, from `base/` and `data/` with `config.yaml`. What
the last run left is in `run/`: {left}.{_handed_over(files)}

## What is asked

1. Find what is wrong, and fix it in these files, with whatever tools you like (`course explain
   run/console.log`, `diagnose`, your own). The size of the run stays as it is: steps, batches,
   model, the number of rows; a row that is wrong may be put right.
2. Write `report.yaml`.
3. `course oncall check` trains the fixed files twice, with other seeds, and measures the models
   itself: some twenty seconds, more on a busy machine.
"""


def _handed_over(files: Files) -> str:
    """What a letter says of a folder that an earlier job left."""
    folders = sorted({name.rpartition("/")[0] for name in files if name.endswith(HANDED_OVER)})
    if not folders:
        return ""
    said = (
        f"`{folders[0]}/` was left by an earlier job. What it holds may be put right as well, in "
        "the files that it has, or the run may do without it. Weights of another training are not "
        "taken."
    )
    return f"\n\n{fill(said, WIDTH)}"


def read(folder: Path) -> Ticket:
    """The ticket of a folder.

    Raises:
        BadRequest: it is none, or its mark was damaged.
    """
    path = folder / KEPT
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        ticket = Ticket(**data)
        if type(ticket.seed) is not int or ticket.level not in LEVELS:
            raise ValueError
        if ticket.version not in (AS_THEY_ARE, VARIED):
            raise ValueError
        return ticket
    except FileNotFoundError:
        saw, fix = f"{folder} is no ticket", "change into its folder, or name it"
    except (ValueError, TypeError, OSError, RecursionError):
        saw, fix = f"{path} is damaged", "draw the ticket again with the same --seed and --level"
    raise BadRequest(saw, why=f"a ticket is told by its file {KEPT}", fix=fix)


def run_files(folder: Path, handed: Files) -> Files:
    """The files of a ticket's run as they are now, with modules that were added beside them."""
    added = sorted(path.name for path in folder.glob("*.py") if path.name not in handed)
    return text_files(folder, [*handed, *added])


def text_files(folder: Path, names: list[str]) -> Files:
    """The named files that exist, as text; no links, and nothing huge."""
    found = {}
    for name in names:
        path = folder / name
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= max_bytes(name):
            found[name] = as_text(name, path.read_bytes())
    return found


def max_bytes(name: str) -> int:
    """The most that a file of this name may have; one that has more is not read."""
    return MAX_TENSORS if name.endswith(TENSORS) else MAX_BYTES


def write_files(folder: Path, files: Files) -> None:
    """Write files of a run as they stand on disk."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(as_bytes(name, text))
