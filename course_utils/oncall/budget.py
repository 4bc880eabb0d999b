"""A ticket with a budget: its files are closed, each look is paid for, and the bill is kept.

At first the folder holds the ticket and the report's form alone; the rest lies beside them in an
archive, so that it is the reader's own choice to pay. What is closed counts as it was handed out.
"""

import io
import re
import zipfile
from pathlib import Path
from textwrap import fill
from typing import NoReturn

from course_utils.errors import BadRequest
from course_utils.files.saving import save
from course_utils.oncall import folder as folders
from course_utils.oncall import instruments, report, templates
from course_utils.oncall.declare import Files
from course_utils.oncall.diary import NAME as DIARY
from course_utils.oncall.diary import Diary
from course_utils.oncall.prices import CHECK, EXPLAIN, INSTRUMENTS, OF_CHECK, Bill, price
from course_utils.shown.wrap import WIDTH

CLOSED, LOG = ".oncall-closed.zip", "run/console.log"
OPEN = (folders.TICKET, folders.KEPT, report.NAME, DIARY)
AS_A_WHOLE = re.compile(r"(base|teacher|tokenizer|run/[^/]+)/")  # as one opens it


def bill(folder: Path) -> Bill | None:
    """The bill of a folder, or None where looks are free."""
    if not (folder / CLOSED).is_file():
        return None
    noted = Diary(folder / DIARY).read()
    return Bill(noted.get("num_looks", 0), tuple(noted.get("looks", ())))


def close(folder: Path, num_looks: int) -> None:
    """Close the files of a ticket that has just been written."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in OPEN]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            archive.write(path, path.relative_to(folder).as_posix())
    (folder / CLOSED).write_bytes(packed.getvalue())
    for path in paths:
        path.unlink()
    for path in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
        path.rmdir()
    Diary(folder / DIARY).note(num_looks=num_looks, looks=[])
    ticket = folder / folders.TICKET
    save(ticket, ticket.read_text(encoding="utf-8") + _rules(folder, num_looks))


def closed_files(folder: Path, handed: Files) -> Files:
    """The files, as they were handed out, that have not been opened."""
    of = bill(folder)
    return {} if of is None else {k: v for k, v in handed.items() if _thing(k) not in of.paid}


def look(folder: Path, thing: str) -> str:
    """Open a thing of the ticket in its folder, or run an instrument; returns what to read.

    Raises:
        BadRequest: this is no ticket with a budget, or the thing does not exist, is open already,
            or costs more than is left. Nothing is paid then.
    """
    ticket, thing = folders.read(folder), _plain(thing)
    _require_lookable(folder, thing)
    if thing == EXPLAIN:
        with _archive(folder) as archive:
            found = instruments.explain(archive.read(LOG).decode(errors="replace"))
    elif thing in INSTRUMENTS:
        found = instruments.ON_FILES[thing](*_to_train(folder, ticket))
    else:
        found = "\n".join(_opened(folder, thing))
    pay(folder, thing)
    return f"{found.strip()}\n\n{bill(folder)}"


def pay(folder: Path, *things: str) -> None:
    """Put these things on the bill of a folder."""
    Diary(folder / DIARY).note(looks=[*bill(folder).paid, *things])


def due_for_check(folder: Path) -> tuple[str, ...]:
    """What a check has to pay: nothing where looks are free, and nothing for the first one.

    Raises:
        BadRequest: it costs more than is left.
    """
    of = bill(folder)
    if of is None or not Diary(folder / DIARY).read()["checks"]:
        return ()
    _require_left(of, CHECK)
    return (CHECK,)


def _require_lookable(folder: Path, thing: str) -> None:
    of = bill(folder)
    if of is None:
        _refuse("this ticket has no budget", "open its files: every look is free")
    things = _things(folder)
    if thing not in (*things, *INSTRUMENTS):
        every = ", ".join((*things, *INSTRUMENTS))
        _refuse(f"there is no {thing!r} to look at", f"choose from {every}")
    if thing in things and thing in of.paid:
        _refuse(f"{thing} is open already", f"read it in {folder}")
    _require_left(of, thing)


def _require_left(of: Bill, thing: str) -> None:
    if price(thing) > of.left:
        saw = f"{thing} costs {price(thing)}, and {of.left} of {of.num_looks} looks are left"
        decide = "decide by what you have seen: fill in report.yaml, and check"
        _refuse(saw, "the last check stands" if thing == CHECK else decide)


def _refuse(saw: str, fix: str) -> NoReturn:
    raise BadRequest(saw, why="a look is paid for once; nothing was paid now", fix=fix)


def names_of(folder: Path, thing: str) -> list[str]:
    """The files that opening a thing opens; none for an instrument."""
    with _archive(folder) as archive:
        return [name for name in archive.namelist() if _thing(name) == _plain(thing)]


def _plain(thing: str) -> str:
    return thing.removeprefix("./").rstrip("/")


def _opened(folder: Path, thing: str) -> list[str]:
    with _archive(folder) as archive:
        return [archive.extract(name, folder) for name in names_of(folder, thing)]


def _to_train(folder: Path, ticket: folders.Ticket) -> tuple[Files, dict[str, bytes]]:
    """The files as they are now, with the closed ones, and those of base/."""
    handed = folders.handed_out(ticket)[1]
    files = closed_files(folder, handed) | folders.run_files(folder, handed)
    if gone := set(handed) - set(files):
        _refuse(f"{', '.join(sorted(gone))} is gone", f"take it from {CLOSED}")
    template = templates.load(folders.case_of(ticket).template)
    return files, template.base(folders.data_seed(ticket))


def _things(folder: Path) -> dict[str, int]:
    """What can be opened, with its size in bytes."""
    sizes: dict[str, int] = {}
    with _archive(folder) as archive:
        for one in archive.infolist():
            thing = _thing(one.filename)
            sizes[thing] = sizes.get(thing, 0) + one.file_size
    return sizes


def _thing(name: str) -> str:
    """
    >>> _thing("base/model.safetensors"), _thing("run/console.log"), _thing("run/adapter/x.json")
    ('base', 'run/console.log', 'run/adapter')
    """
    whole = AS_A_WHOLE.match(name)
    return whole[1] if whole else name


def _round(size: int) -> int:
    """To one digit: more would tell of two tickets what differs.

    >>> _round(8_164), _round(0)
    (8000, 0)
    """
    return round(size, 1 - len(str(size)))


def _archive(folder: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(folder / CLOSED)


def _rules(folder: Path, num_looks: int) -> str:
    opens = (
        "The files are closed, for the tools named above as well. `course oncall look THING` opens "
        "one of these and copies it to here, where you can edit it and use any tool on it. What it "
        "costs stands beside it:"
    )
    runs = (
        "These run on the files as they are now, closed or open, each time for its price: "
        "`explain` reads the log, `train` prints the log of a training, `diagnose` watches one."
    )
    check = (
        f"The first `course oncall check` is free, each further one costs {OF_CHECK}. What you do "
        "with files that you have opened costs nothing more."
    )
    files = [
        f"    {thing:<24}{price(thing):>3}   about {_round(size):>9,} bytes"
        for thing, size in _things(folder).items()
    ]
    tools = [f"    {name:<24}{costs:>3}" for name, costs in INSTRUMENTS.items()]
    listed = ("\n".join(files), fill(runs, WIDTH), "\n".join(tools), fill(check, WIDTH))
    return "\n\n".join((f"\n## {num_looks} looks", fill(opens, WIDTH), *listed)) + "\n"
