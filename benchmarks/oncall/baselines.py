"""Programs for `course oncall bench` that work without understanding, started in a ticket's folder.

    PYTHONPATH=$PWD course oncall bench --out OUT --readable $PWD -- \\
      python -m benchmarks.oncall.baselines nothing
    ... explain     what `course explain` says of the console log; report only
    ... diagnose    what `diagnose` says of the run as it goes; report only
    ... bisect      settings drawn at random until a log looks better, cut down by bisect_config
    ... commonest   what most tickets of its kind share is put back (`restore_commonest`)
    ... both        the same, with the class that `diagnose` names. The tickets that these two have
                    seen are in build/oncall/seen.json, which `restore_commonest seen` writes

A report's place is the first line of the folder that holds a word of the place that was named.
"""

import contextlib
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
import yaml  # noqa: E402

from course_utils.causes import CAUSES  # noqa: E402
from course_utils.errors import CourseError  # noqa: E402

WORD = re.compile(r"[A-Za-z_]\w{3,}")
SEARCHED = ("config.yaml", "train.py", "data.py", "rollout.py", "losses.py", "rewards.py")
SEEN = Path(__file__).parents[2] / "build" / "oncall" / "seen.json"
NUM_DRAWS, FACTORS = 4, (0.01, 0.1, 10.0)
LOSSES, REWARDS = ("loss", "actor/pg_loss"), ("reward", "critic/score/mean")


def nothing() -> None:
    """Leave everything as it is."""


def explain() -> None:
    """Write down the first cause that the console log points to."""
    from course_utils.explain import explain as explained

    for name in ("run/console.log", "run/trainer_state.json"):
        if Path(name).exists():
            found = explained(Path(name).read_text(errors="replace")).causes
            if found:
                return write(found[0].key, found[0].at.text)
    return None


def diagnose() -> None:
    """Run train.py in a copy with `diagnose` riding along, and write its first cause down."""
    from course_utils.diagnostics.diagnosed_script import ride

    with copied():
        found = ride("train.py")
    if found and found.causes:
        cause = found.causes[0]
        write(cause.key, cause.place or cause.says)


def bisect() -> None:
    """Draw settings until a run's log ends better, and keep the fewest that make it so."""
    from course_utils.diagnostics import bisect_config

    handed = yaml.safe_load(Path("config.yaml").read_text())
    numbers = [k for k, v in handed.items() if isinstance(v, int | float) and not is_flag(v)]
    drawn = random.Random(json.dumps(handed, sort_keys=True))
    at_first = ending(handed)
    bar = at_first + 0.1 * abs(at_first) if math.isfinite(at_first) else at_first
    for _ in range(NUM_DRAWS):
        other = handed | {
            key: scaled(handed[key], drawn.choice(FACTORS)) for key in sample(drawn, numbers)
        }
        if ending(other) <= bar:
            continue

        def probe(settings: dict) -> None:
            if ending(settings) <= bar:
                raise ValueError("no better")

        with contextlib.suppress(CourseError):
            cause = bisect_config(other, handed, probe, timeout_s=120).causes[0]
            Path("config.yaml").write_text(
                yaml.safe_dump(handed | {key: other[key] for key in cause}, sort_keys=False)
            )
            return report("config.yaml", cause[0], "rate" if "rate" in cause[0] else "schedule")
    return None


def commonest() -> None:
    """Put back what other tickets say, from a file of tickets of other seeds."""
    from benchmarks.oncall.restore_commonest import fix_here, learn

    fix_here(learn(json.loads(SEEN.read_text())))


def both() -> None:
    """Mend as `commonest` does, and take the class of the fault from `diagnose`."""
    form = Path("report.yaml").read_text()
    diagnose()  # of the files as they were handed out
    named = yaml.safe_load(Path("report.yaml").read_text())["faults"][0]["class"]
    Path("report.yaml").write_text(form)  # which tells how many faults there are
    commonest()
    entries = yaml.safe_load(Path("report.yaml").read_text())["faults"]
    if named and entries:
        entries[0]["class"] = named
        Path("report.yaml").write_text(yaml.safe_dump({"faults": entries}))


def sample(drawn: random.Random, names: list[str]) -> list[str]:
    return drawn.sample(names, min(3, len(names)))


def scaled(value: int | float, factor: float) -> int | float:
    """A count stays a count."""
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def is_flag(value: object) -> bool:
    return isinstance(value, bool)


def ending(settings: dict) -> float:
    """How well a run's log ends: its last reward, or minus its last loss; -inf without both."""
    with copied() as folder:
        (folder / "config.yaml").write_text(yaml.safe_dump(settings))
        subprocess.run([sys.executable, "train.py"], cwd=folder, capture_output=True, timeout=120)
        try:
            log = json.loads((folder / "run" / "trainer_state.json").read_text())["log_history"]
        except (OSError, ValueError, KeyError):
            return float("-inf")
    for names, sign in ((REWARDS, 1), (LOSSES, -1)):
        values = [entry[name] for entry in log for name in names if name in entry]
        if values:
            value = sign * sum(values[-3:]) / len(values[-3:])
            return value if math.isfinite(value) else float("-inf")
    return float("-inf")


@contextlib.contextmanager
def copied() -> Iterator[Path]:
    """A copy of the ticket as the current folder, without the files of the last run."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        for path in here.rglob("*"):
            name = path.relative_to(here)
            if path.is_file() and name.parts[0] != "run":
                (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / name).write_bytes(path.read_bytes())
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(here)


def write(key: str, place: str) -> None:
    """Write report.yaml from a cause's key and the words about its place."""
    kinds = sorted(CAUSES[key].kinds)
    for word in [*WORD.findall(place), *WORD.findall(key.replace("_", " "))]:
        for name in SEARCHED:
            lines = Path(name).read_text().splitlines() if Path(name).exists() else []
            for number, line in enumerate(lines, start=1):
                if word in line:
                    return report(name, str(number), kinds[0] if kinds else "")
    return report("train.py", "main", kinds[0] if kinds else "")


def report(file: str, where: str, kind: str) -> None:
    entry = {"file": file, "where": where, "class": kind}
    Path("report.yaml").write_text(yaml.safe_dump({"faults": [entry]}))


if __name__ == "__main__":
    programs = (nothing, explain, diagnose, bisect, commonest, both)
    {one.__name__: one for one in programs}[sys.argv[1]]()
