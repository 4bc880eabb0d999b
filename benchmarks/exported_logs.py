"""The logs that the incidents leave, run bare: kept in build/logs, so that readers can be tried.

    python -m benchmarks.exported_logs [NAME ...]

A log is made once for an incident, its variant and the seed of its half; delete the file, or the
folder, to have it made anew.
"""

import argparse
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import diagnosis_tools as tools
from benchmarks.halves import SEEDS, half_of
from course_utils import incidents
from course_utils.incidents import healthy

FOLDER = Path(__file__).parents[1] / "build" / "logs"
Named = tuple[str, str]  # the name, and broken, twin or healthy


def every_run(names: tuple[str, ...] = ()) -> Iterator[Named]:
    """Each incident broken and as its twin, each healthy run that looks broken."""
    for name in incidents.names():
        if not names or name in names:
            yield from ((name, "broken"), (name, "twin"))
    yield from ((n, "healthy") for n in incidents.names(healthy) if not names or n in names)


def exported(run: Named) -> tools.Outcome:
    """What a bare run left: taken from its file if there is one, else the run is started."""
    path = FOLDER / "{}.{}.json".format(*run)
    if not path.exists():
        bare = tools.in_child(partial(_make, *run), tools.by_nothing)
        FOLDER.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"ended": bare.ended, "log": bare.log}, default=float))
    return tools.Outcome(**json.loads(path.read_text()))


def _make(name: str, variant: str):
    seed = SEEDS[half_of(name)]
    if variant == "healthy":
        return incidents.load_look_alike(name).make(seed)
    return incidents.load_incident(name).make(variant, seed)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    for run in every_run(tuple(parser.parse_args().names)):
        left = exported(run)
        print(*run, f"{len(left.log)} entries", left.ended[:80], flush=True)


if __name__ == "__main__":
    from course_utils.quiet import quiet_libraries

    quiet_libraries()
    import trl  # noqa: F401  imported once, before the runs are forked

    main()
