"""How much healthy runs of a template vary over seeds; kept in one small file.

python -m course_utils.oncall.spread [NAME ...]      measure what is stale, and write it down

A mended run is held against a model of the tail of healthy runs: normal for what should be high,
normal in the logarithm for a loss, cut off at 4 deviations. About one healthy training in a hundred
fails, far from all others, and is no part of the model: the two worst of a hundred are left out of
the fit, and the judge leaves out a seed on which the healthy run itself is beyond the bound, and
asks another seed where a run is no worse than some healthy one was (`check.py`). `refused_by_half`
says how the model does on seeds that it has not seen.
"""

import argparse
import hashlib
import json
import math
import statistics
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from course_utils.errors import Unsupported
from course_utils.files.saving import write_atomically
from course_utils.oncall import templates
from course_utils.oncall.declare import Template

PATH = Path(__file__).parent / "spread.json"
SEEDS = tuple(range(100, 200))
DEVIATIONS = 4.0
LEFT_OUT = 0.02  # of the runs: the worst, of which the model is not made


@dataclass(frozen=True)
class Spread:
    """Results of healthy runs: each metric's value by seed, and the work they took."""

    made_of: str  # the template's fingerprint
    values: dict[str, list[float]]
    steps: int
    tokens: int  # the most
    cpu_s: float  # the most
    measured_by: str = ""  # the fingerprint of what measured them


def instruments() -> str:
    """A hash of the code that makes bases and measures results."""
    texts = [
        (PATH.parent / name).read_bytes() for name in ("bases.py", "result.py", "measuring.py")
    ]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]


def load(template: Template) -> Spread:
    """The kept spread of a template.

    Raises:
        Unsupported: there is none, or the template has changed since.
    """
    kept = _kept().get(template.name)
    if kept is None or kept["made_of"] != templates.fingerprint(template):
        raise Unsupported(
            f"the healthy runs of {template.name} have not been measured as it is now",
            why="a mended run is held against what healthy ones reach",
            fix=f"python -m course_utils.oncall.spread {template.name}",
        )
    return Spread(**kept)


def bound(template: Template, spread: Spread, metric: str) -> float:
    """The worst value of a metric that still counts as healthy.

    Of what should be low, a loss, it is told on the scale of logarithms: some healthy seeds end
    with three times the loss of the others.
    """
    of = template.metrics[metric]
    values = sorted(spread.values[metric], reverse=of.higher)  # the worst stand last
    values = values[: len(values) - round(LEFT_OUT * len(values))]
    if of.higher:
        width = max(DEVIATIONS * statistics.stdev(values), of.grain)
        return statistics.fmean(values) - width
    logs = [math.log(value) for value in values]
    by_logs = math.exp(statistics.fmean(logs) + DEVIATIONS * statistics.stdev(logs))
    return max(by_logs, statistics.fmean(values) + of.grain)


def may_be_healthy(template: Template, spread: Spread, measured: dict[str, float]) -> bool:
    """Whether some healthy run was as bad in each metric."""
    return all(
        value >= min(spread.values[name])
        if template.metrics[name].higher
        else value <= max(spread.values[name])
        for name, value in measured.items()
    )


def in_words(template: Template, spread: Spread, metric: str) -> str:
    """That bound in words, such as "at least 0.9"."""
    side = "at least" if template.metrics[metric].higher else "at most"
    return f"{side} {bound(template, spread, metric):.3g}"


def refused_by_half(template: Template, spread: Spread) -> tuple[int, int]:
    """How many healthy runs lie beyond the bounds of the other half of them, and of how many."""
    whole = len(next(iter(spread.values.values())))
    beyond = set()
    for half in (0, 1):
        known = {name: own[half::2] for name, own in spread.values.items()}
        bounds = {name: bound(template, replace(spread, values=known), name) for name in known}
        for name, edge in bounds.items():
            is_high = template.metrics[name].higher
            others = enumerate(spread.values[name])
            beyond |= {
                n for n, v in others if n % 2 != half and (v < edge if is_high else v > edge)
            }
    return len(beyond), whole


def measure(
    template: Template, trainers, seeds: tuple[int, ...] = SEEDS, *, is_anew: bool = False
) -> Spread:
    """Train the healthy run on every seed that is not measured yet, or on all of them anew."""
    from course_utils.oncall.result import Result

    known = None if is_anew or is_stale(template) else Spread(**_kept()[template.name])
    done = min(map(len, known.values.values())) if known else 0
    runs, numbers = [], []
    for seed in seeds[done:]:
        base = template.base(seed)
        trained = trainers.train(templates.healthy_files(template, seed), base, seed=seed)
        if trained.code != 0:
            raise RuntimeError(f"{template.name}, seed {seed}: {trained.console[-2000:]}")
        runs.append(trained)
        numbers.append(template.measure(Result(trained.files, base)))
        print(template.name, seed, numbers[-1], f"{trained.cpu_s:.1f} s", flush=True)
    before = [known] if known else []
    return Spread(
        made_of=templates.fingerprint(template),
        values={
            name: [
                *(value for one in before for value in one.values[name]),
                *(round(one[name], 4) for one in numbers),
            ]
            for name in template.metrics
        },
        steps=[*before, *runs][0].steps,
        tokens=max(run.tokens for run in [*before, *runs]),
        cpu_s=round(max(run.cpu_s for run in [*before, *runs]), 1),
        measured_by=instruments(),
    )


def _kept() -> dict:
    return json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}


def is_stale(template: Template) -> bool:
    """Whether the template, or the code that measures it, has changed since."""
    kept = _kept().get(template.name, {})
    now = (templates.fingerprint(template), instruments())
    return (kept.get("made_of"), kept.get("measured_by")) != now


def is_due(template: Template) -> bool:
    """Whether runs are missing, or all of them are stale."""
    kept = _kept().get(template.name, {"values": {"": []}})
    return is_stale(template) or min(map(len, kept["values"].values())) < len(SEEDS)


def confirmed(template: Template, trainers) -> Spread | None:
    """The kept spread with today's marks, if the first seed gives the numbers that are kept."""
    kept = _kept().get(template.name)
    if kept is None:
        return None
    now = measure(template, trainers, SEEDS[:1], is_anew=True)
    is_same = all(kept["values"].get(name, [])[:1] == own for name, own in now.values.items())
    marks = {"made_of": now.made_of, "measured_by": now.measured_by}
    return Spread(**kept | marks) if is_same else None


def main() -> None:
    from course_utils.oncall.training import Trainers

    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--confirm", action="store_true")
    asked = parser.parse_args()
    names = asked.names or [n for n in templates.names() if is_due(templates.load(n))]
    if not names:
        return
    with Trainers() as trainers:
        for template in map(templates.load, names):
            found = confirmed(template, trainers) if asked.confirm else None
            found = found or measure(template, trainers)
            known = _kept() | {template.name: asdict(found)}
            write_atomically(PATH, json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
