"""The cases that a tool is asked about, each with what is true of it.

runs     our incidents, broken and as healthy twins, and healthy runs that look broken
threads  logs that people pasted (tests/helpers/pasted)
gpualert logs of gpualert-eval, under its licence (outside/)
grpo     the faults of SkillsBench's debug-trl-grpo that hide each other, rebuilt from their
         description
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from benchmarks.diagnostics.halves import SEEDS, half_of
from benchmarks.diagnostics.yardstick import grpo_chain
from benchmarks.explain.exported_logs import RunRemains, left_of, remains_of
from course_utils import incidents
from course_utils.causes import CAUSES
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.reading import read
from course_utils.incidents import healthy
from course_utils.incidents.declare import Run
from tests.helpers import pasted_logs

EVERY_THIRD = 3  # of the healthy runs that look broken
OTHER_SEED = 100  # more than the seed of the run: the reference's
GPUALERT = Path(__file__).parent / "outside" / "gpualert.jsonl"
# A class of gpualert-eval -> the keys of our causes that say the same.
SAME = {
    "cuda_oom": ("memory", "cuda_memory"),
    "cuda_runtime": ("illegal_gpu_access", "index_outside"),
    "device_mismatch": ("devices_mixed",),
    "file_not_found": ("file_missing",),
    "missing_module": ("package_missing", "binary_mismatch"),
    "nan_loss": ("nan_already", "nan_weights", "nan_from_the_start", "nan_gradient"),
    "nccl": ("hang", "nccl_failed", "ranks_disagree"),
    "oom_killer": ("memory", "killed_for_memory"),
    "permission": ("no_permission",),
    "ram_oom": ("memory", "host_memory"),
    "runtime_error": ("shapes_differ",),
    "segfault": ("bad_memory_access",),
    "traceback": ("exception",),
}
RUN_PY = '''"""A training run: `python {file}` trains it, make() returns it before it starts."""

from benchmarks.diagnostics.yardstick.cases import made


def make():
    """.model, .trainer or None, .parts of a loop of its own, .start() trains, .log"""
    return made("{id}", reference={reference})


if __name__ == "__main__":
    make().start()
'''


@dataclass(frozen=True)
class Case:
    """One question to a tool.

    Attributes:
        family: cases that ask about the same thing; the first of each is asked by default.
        right: names that are right for the cause; empty where the run is healthy.
        text: the log, where it is no run.
        make: the run for a seed and whether it is the healthy reference; None for a log.
    """

    corpus: str
    name: str
    family: str
    right: frozenset[str]
    text: str = ""
    make: Callable[[int, bool], Run] | None = None
    seed: int = 0

    @property
    def key(self) -> str:
        return f"{self.corpus}/{self.name}"

    @property
    def id(self) -> str:
        """What a tool sees of the name: nothing."""
        return hashlib.sha256(self.key.encode()).hexdigest()[:8]

    def is_named_by(self, name: str) -> bool:
        """Whether a name is right, or is the name of a cause of the right kind."""
        return name in self.right or bool(
            name in CAUSES and self.right.intersection(CAUSES[name].kinds)
        )

    def write(self, folder: Path) -> str:
        """The files that a tool gets; returns the text for stdin."""
        left = self._left()
        text = "\n".join(left.lines()) + "\n" if left else self.text
        log = left.log if left else _entries_of(self.text)
        (folder / "log.txt").write_text(text)
        (folder / "entries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in log))
        (folder / "trainer_state.json").write_text(json.dumps({"log_history": log}))
        if self.make is not None:
            for file, reference in (("run.py", False), ("reference.py", True)):
                source = RUN_PY.format(file=file, id=self.id, reference=reference)
                (folder / file).write_text(source)
        return text

    def _left(self) -> RunRemains | None:
        if self.corpus == "runs":
            return left_of(tuple(self.name.split(".")))
        if self.make is not None:
            return remains_of(self.key.replace("/", "."), partial(self.make, self.seed, False))
        return None


def _entries_of(text: str) -> list[dict]:
    """The entries of a pasted log, found by our reader, under the log's own names."""
    found = [one for one in read(text.splitlines()) if isinstance(one, Entry)]
    rows = [{name: one.numbers[known] for known, name in one.names.items()} for one in found]
    return [{"step": number} | row for number, row in enumerate(rows, 1)]


def made(which: str, *, reference: bool) -> Run:
    """The run of a case, or a healthy one like it with another seed."""
    startable = (*cases_of("runs"), *cases_of("grpo"))
    [case] = [one for one in startable if one.id == which]
    return case.make(case.seed + OTHER_SEED * reference, reference)


def chosen(cases: Iterable[Case], *, everything: bool) -> list[Case]:
    """The first of each family by name; everything when asked."""
    some = list(cases)
    if everything:
        return some
    firsts = {case.family: case for case in reversed(some) if case.family}
    return [case for case in some if firsts.get(case.family) is case]


@cache
def cases_of(corpus: str) -> tuple[Case, ...]:
    """All cases of a corpus, by name."""
    return tuple(SOURCES[corpus]())


def _runs() -> Iterator[Case]:
    for name in sorted(incidents.names()):
        incident = incidents.load_incident(name)
        seed, right = SEEDS[half_of(name)], frozenset({incident.kind, *incident.causes})

        def make(seed: int, twin: bool, incident=incident, variant="broken") -> Run:
            return incident.make("twin" if twin else variant, seed)

        for variant, names in (("broken", right), ("twin", frozenset())):
            key, family = f"{name}.{variant}", f"{incident.kind}.{variant}"
            started = partial(make, variant=variant)
            yield Case("runs", key, family, names, make=started, seed=seed)
    for number, name in enumerate(sorted(incidents.names(healthy))):
        like = incidents.load_look_alike(name)
        family = "" if number % EVERY_THIRD else name
        started = lambda seed, _reference, like=like: like.make(seed)  # noqa: E731
        seed = SEEDS[half_of(name)]
        yield Case("runs", f"{name}.healthy", family, frozenset(), make=started, seed=seed)


def _threads() -> Iterator[Case]:
    for log in sorted(pasted_logs.LOGS, key=lambda log: log.thread):
        if log.key is None:
            continue  # the log cannot tell, so no answer is right
        cause = CAUSES[log.key]
        right = frozenset() if cause.healthy else frozenset({log.key, *cause.kinds})
        yield Case("threads", log.thread, log.key, right, log.text)


def _gpualert() -> Iterator[Case]:
    for line in GPUALERT.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        right = frozenset({one["class"], *SAME.get(one["class"], ())})
        family = f"{one['class']}.{one['source']}"
        yield Case("gpualert", one["id"], family, right, one["text"])


def _grpo() -> Iterator[Case]:
    for name, right in grpo_chain.CHAIN.items():

        def make(seed: int, reference: bool, name=name) -> Run:
            return grpo_chain.make("4_healthy" if reference else name, seed)

        yield Case("grpo", name, name, frozenset(right), make=make)


SOURCES = {"runs": _runs, "threads": _threads, "gpualert": _gpualert, "grpo": _grpo}
CORPORA = tuple(SOURCES)
