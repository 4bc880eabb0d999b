"""Says whether a case holds: `python -m course_utils.oncall.prove ID [ID ...] [--seeds 0,1,2]`.

Broken must fail, the fix must pass, and every part of it and every non-fix must fail, on each seed;
but the parts that a fault names as enough must pass.
"""

import argparse
import sys

from course_utils.oncall import cases
from course_utils.oncall.proving import SEEDS, Judge, proved
from course_utils.oncall.training import Trainers


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("ids", nargs="+")
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)))
    asked = parser.parse_args()
    if unknown := sorted(set(asked.ids) - set(cases.names())):
        parser.error(f"no ticket is called {', '.join(unknown)}: names are files of oncall/cases")
    seeds, wrong = tuple(int(seed) for seed in asked.seeds.split(",")), 0
    with Trainers() as trainers:
        judge = Judge(trainers)
        for name in asked.ids:
            for seen in proved(cases.load(name), judge, seeds):
                said = "; ".join(seen.verdict.problems) or "healthy"
                mark = "  " if seen.is_as_it_must_be else "!!"
                wrong += not seen.is_as_it_must_be
                print(f"{mark} {name}  seed {seen.seed}  {seen.variant}: {said}", flush=True)
    print("every variant is as it must be" if not wrong else f"{wrong} are not as they must be")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
