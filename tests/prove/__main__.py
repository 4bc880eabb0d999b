"""Proves everything, or what has changed since it was last proved: `make prove`.

    python -m tests.prove [--part 3/8] [--jobs 2] [--again] [--list] [--check] [--write] [WORD ...]

Only what does not hold for the sources as they are now is run, so a call that was stopped goes on.
With WORDs, only proofs that have one of them in their names. `--part` takes one of equal parts, for
machines side by side; copy their files in `build/prove/` together. `--check` runs nothing, and
exits with 1 and a list where the record is not whole; a release needs that. `--write` puts the
record beside this module, and its table into `docs/proof.md`.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from benchmarks.markdown import table
from course_utils.shown.report import Table
from tests.prove.record import PARTS, Proof, Record
from tests.prove.sources import ROOT, Sources
from tests.prove.units import Unit, units

TRACED = Path(__file__).with_name("traced")
PAGE = ROOT / "docs" / "proof.md"
COLUMNS = ("what", "proofs", "hold", "tests passed", "failed", "skipped", "minutes")
UNKNOWN_S, LONGEST_S = 60.0, 2 * 3600
MOST = 40  # proofs that do not hold and are listed on the page


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.prove")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="K/N")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="also what holds")
    parser.add_argument("--list", action="store_true", help="say what would be run")
    parser.add_argument("--check", action="store_true", help="is the record whole?")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    part, of = asked.part
    record = Record(Sources(), f"{part}/{of}")
    chosen = [u for u in units() if not asked.words or any(word in u.name for word in asked.words)]
    chosen = equal_parts(chosen, record.usual_s, of)[part - 1]
    missing = [unit for unit in chosen if asked.again or not record.holds(unit.name)]
    if asked.list or asked.check:
        print("\n".join(f"{unit.kind}: {unit.name}" for unit in missing))
    else:
        print(f"{len(missing)} of {len(chosen)} proofs do not hold yet for these sources.")
        if stopped := run_all(missing, record, asked.jobs):
            return stopped
    if asked.write:
        record.write_whole(unit.name for unit in chosen)
        PAGE.write_text(page(chosen, record), encoding="utf-8")
    if not asked.list:
        print(Table(columns=COLUMNS, rows=rows(chosen, record)))
    open_ = [unit.name for unit in chosen if not record.holds(unit.name)]
    print(f"{len(chosen) - len(open_)} of {len(chosen)} proofs hold for these sources.")
    return int(bool(open_) and not asked.list)


def equal_parts(chosen: Iterable[Unit], usual_s: dict[str, float], of: int) -> list[list[Unit]]:
    """Cut in parts that take about as long, each with its longest first."""
    parts: list[list[Unit]] = [[] for _ in range(of)]
    sums = [0.0] * of
    for unit in sorted(chosen, key=lambda unit: -usual_s.get(unit.name, UNKNOWN_S)):
        least = sums.index(min(sums))
        parts[least].append(unit)
        sums[least] += usual_s.get(unit.name, UNKNOWN_S)
    return parts


def run_all(missing: list[Unit], record: Record, jobs: int) -> int:
    """Run them side by side and keep each outcome; returns 130 when it was stopped, else 0."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    running: set[subprocess.Popen] = set()
    with ThreadPoolExecutor(jobs) as pool:
        waited = {pool.submit(run, unit, running): unit for unit in missing}
        try:
            for number, done in enumerate(as_completed(waited), 1):
                unit, proof = waited[done], done.result()
                record.add(unit.name, proof)
                said = "holds" if not proof.failed else f"DOES NOT HOLD: {_log(unit)}"
                print(f"[{number}/{len(missing)}] {unit.name} {proof.seconds:.0f} s {said}")
                sys.stdout.flush()
        except KeyboardInterrupt:
            print("Stopped. What was proved is kept; the next call goes on.")
            return 130
        finally:  # an error of ours must not go on without being told, and keep nothing
            pool.shutdown(wait=False, cancel_futures=True)
            for process in tuple(running):
                process.terminate()
    return 0


def run(unit: Unit, running: set[subprocess.Popen]) -> Proof:
    """Run one in a process of its own, which leaves nothing behind, and see what it reads."""
    sources, log = Sources(), _log(unit)
    log.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, log.open("w") as written:
        trace, junit = Path(folder) / "trace", Path(folder) / "junit.xml"
        paths = (str(TRACED), str(ROOT), os.environ.get("PYTHONPATH"))
        env = os.environ | unit.env
        env |= {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        env |= {"PROVE_ROOT": str(ROOT), "PROVE_TRACE": str(trace)}
        more = (f"--junitxml={junit}",) if unit.is_pytest else ()
        clean = (sys.executable, "-m", "tests.prove.nothing_left")
        began = time.monotonic()
        process = subprocess.Popen(
            (*clean, *unit.command, *more), cwd=ROOT, env=env, stdout=written, stderr=written
        )
        running.add(process)
        try:
            status = process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            status = process.wait()
        running.discard(process)
        took = time.monotonic() - began
        read = trace.read_text() if trace.exists() else ""
        reached = tuple(sorted(sources.files) if unit.reads_all else sources.reached(read))
        passed, failed, skipped = counts(junit) if junit.exists() else (0, 0, 0)
    if status and not failed:
        failed = 1
    passed = passed or int(not status)
    on = f"{date.today()}, {_kernels()}"
    return Proof(reached, sources.digest(reached), passed, failed, skipped, round(took, 1), on)


def counts(junit: Path) -> tuple[int, int, int]:
    """Passed, failed and skipped tests in pytest's JUnit file."""
    [suite] = ElementTree.parse(junit).getroot().iter("testsuite")
    number, skipped = int(suite.get("tests")), int(suite.get("skipped"))
    failed = int(suite.get("failures")) + int(suite.get("errors"))
    return number - failed - skipped, failed, skipped


def rows(chosen: Iterable[Unit], record: Record) -> list[tuple[str, ...]]:
    """The table, a row for each kind."""
    kinds: dict[str, list[Unit]] = {}
    for unit in chosen:
        kinds.setdefault(unit.kind, []).append(unit)
    kinds["all"] = [unit for of_kind in kinds.values() for unit in of_kind]
    found = []
    for kind, of_kind in kinds.items():
        proofs = [record.proofs[unit.name] for unit in of_kind if unit.name in record.proofs]
        sums = [sum(getattr(p, name) for p in proofs) for name in ("passed", "failed", "skipped")]
        hold = sum(record.holds(unit.name) for unit in of_kind)
        minutes = f"{sum(proof.seconds for proof in proofs) / 60:.1f}"
        found.append((kind, *map(str, (len(of_kind), hold, *sums)), minutes))
    return found


def page(chosen: list[Unit], record: Record) -> str:
    """docs/proof.md: what the whole proof found, and what does not hold."""
    open_ = [unit for unit in chosen if not record.holds(unit.name)]
    days = sorted({record.proofs[u.name].on for u in chosen if u.name in record.proofs})
    parts = [
        "# The proof of everything",
        "",
        "Made by `make prove`, with one job on a core. Each proof runs in a process of its own, "
        "and is run again when a source that it read has changed. `make test` runs the first "
        "case of each kind of the first rows and compares the solved lessons; the rest is proved "
        f"here alone. Proved between {days[0]} and {days[-1]}.",
        "",
        *table(COLUMNS, rows(chosen, record)),
        "",
        *_open(open_),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _open(units_: list[Unit]) -> list[str]:
    if len(units_) > MOST:
        return [f"{len(units_)} proofs do not hold for these sources: `make proved` lists them."]
    listed = [f"* {unit.kind}: `{unit.name}`" for unit in units_]
    return ["What does not hold:", "", *listed] if listed else []


def _part(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"a part is K/N with K from 1 to N, and this is {text!r}")
    return int(found[1]), int(found[2])


def _log(unit: Unit) -> Path:
    return PARTS / "logs" / f"{re.sub(r'[^A-Za-z0-9_.]+', '_', unit.name)}.txt"


def _kernels() -> str:
    import torch

    return torch.backends.cpu.get_cpu_capability()


if __name__ == "__main__":
    sys.exit(main())
