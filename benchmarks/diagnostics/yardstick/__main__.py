"""Scores tools that diagnose training runs, ours among them, and writes docs/yardstick.md.

    python -m benchmarks.diagnostics.yardstick --tool COMMAND [--all] [--corpus NAME ...] [CASE ...]
    python -m benchmarks.diagnostics.yardstick --write

COMMAND is any command that follows the protocol below, in quotes, or the name of a tool with an
adapter (`tools.py`); it may be given several times. By default the first case of each family is
asked, which takes a tool that reads logs a minute and one that rides along half an hour. Answers
are kept in outcomes.json until `--again`, so a run goes in parts; the page is written from it.

"""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

from benchmarks.diagnostics.yardstick import page  # noqa: E402
from benchmarks.diagnostics.yardstick.cases import CORPORA, Case, cases_of, chosen  # noqa: E402
from benchmarks.diagnostics.yardstick.protocol import LIMIT_S, PROTOCOL, ask  # noqa: E402
from benchmarks.diagnostics.yardstick.tools import TOOLS, Tool  # noqa: E402
from course_utils.errors import BadRequest, CourseError  # noqa: E402

HERE = Path(__file__).parent
KEPT, PAGE = HERE / "outcomes.json", HERE.parents[2] / "docs" / "yardstick.md"
FAILED = 2


def main(argv: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(argv)
    try:
        for command in asked.tool or ():
            _score(command, asked)
    except CourseError as error:
        print(error, file=sys.stderr)
        return FAILED
    kept = read(asked.keep)
    for corpus in asked.corpus or CORPORA:
        print(corpus, *page.table_of(corpus, kept, everything=asked.all), "", sep="\n")
    if asked.write:
        PAGE.write_text(page.page(kept), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.diagnostics.yardstick",
        description=__doc__ + PROTOCOL,
        formatter_class=as_written,
    )
    parser.add_argument("names", nargs="*", metavar="CASE", help="such as runs/rate_5e_2.broken")
    parser.add_argument("--tool", action="append", metavar="COMMAND")
    parser.add_argument("--name", help="what the page calls the command; its program by default")
    parser.add_argument("--corpus", action="append", choices=CORPORA, help="only this one")
    parser.add_argument("--all", action="store_true", help="every case of each family")
    parser.add_argument("--again", action="store_true", help="ask what has been answered, too")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for a case")
    parser.add_argument("--keep", type=Path, default=KEPT, help="the file of answers")
    parser.add_argument("--write", action="store_true", help="write docs/yardstick.md")
    return parser


def _score(command: str, asked: argparse.Namespace) -> None:
    """Ask a tool about all cases, and keep each answer at once."""
    known = {tool.name: tool for tool in TOOLS}
    tool = known.get(command)
    words = _command_of(tool) if tool else shlex.split(command)
    name = asked.name or Path(command.partition(" ")[0]).name
    version = tool.version if tool else ""
    for case in _wanted(asked):
        before = read(asked.keep).get(name, {"version": version, "answers": {}})
        if case.key in before["answers"] and before["version"] == version and not asked.again:
            continue
        answer = ask(words, case.write, limit_s=asked.limit)
        kept = read(asked.keep)  # anew: another tool may have been scored meanwhile
        of = kept.setdefault(name, {"answers": {}})
        of.update(version=version, date=date.today().isoformat())
        of["answers"][case.key] = answer.as_json()
        write(asked.keep, kept)
        print(name, case.key, answer.skipped or answer.alarm, *answer.causes[:1], flush=True)


def _command_of(tool: Tool) -> list[str]:
    if tool.is_here:
        return tool.command()
    raise BadRequest(
        f"{tool.name} is not on the package index, and {tool.source} does not name a checkout.",
        why=tool.limits,
        fix=f"clone its repository, and set {tool.source} to the folder",
    )


def _wanted(asked: argparse.Namespace) -> list[Case]:
    some = [case for corpus in asked.corpus or CORPORA for case in cases_of(corpus)]
    if not asked.names:
        return chosen(some, everything=asked.all)
    if unknown := set(asked.names) - {case.key for case in some}:
        raise BadRequest(
            f"there is no case {', '.join(sorted(unknown))}",
            why="a case is CORPUS/NAME",
            fix="outcomes.json lists them",
        )
    return [case for case in some if case.key in asked.names]


def read(file: Path) -> dict:
    """The kept answers: tool -> version, date, case -> answer."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def write(file: Path, kept: dict) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True)
    file.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    import trl  # noqa: F401  imported once, before runs are forked for their logs

    sys.exit(main())
