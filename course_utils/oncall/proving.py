"""Runs the variants of a case: broken, fixed, fixed in part, and every change that is not a fix."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from course_utils.oncall import attacks, mechanism, planting, spread, templates
from course_utils.oncall.chance_pay import with_chance_pay
from course_utils.oncall.declare import Case, DoesNotFit, Files, Verdict
from course_utils.oncall.judging import judged, learns_unpaid, refused, strays
from course_utils.oncall.result import Result
from course_utils.oncall.training import Trained, Trainers

SEEDS = (0, 1, 2)
BROKEN, FIX = "broken", "the fix"
UNDONE, ENOUGH = "only edit ", ", which is enough"  # begin and end names of parts of a fix
CPU_FACTOR, CPU_MORE_S = 4, 10
NUM_KEPT = 4


def cpu_limit(kept: spread.Spread) -> int:
    """Seconds of CPU that a fixed run may take."""
    return int(CPU_FACTOR * kept.cpu_s + CPU_MORE_S)


@dataclass
class Judge:
    """Trains folders and judges them; trains no folder twice."""

    trainers: Trainers
    _seen: dict[str, Verdict] = field(default_factory=dict)
    _newest: dict[str, Trained] = field(default_factory=dict)

    def verdict(
        self, case: Case, files: Files, *, seed: int, healthy: Files, handed: Files
    ) -> Verdict:
        """The verdict on `files`, trained with `seed`.

        Args:
            healthy: the files without the fault, as this ticket writes them.
            handed: those that were handed out.
        """
        template = templates.load(case.template)
        if problems := refused(template, healthy, handed, files):
            return Verdict(tuple(problems), {})
        key = _key(case, files, seed)
        if key not in self._seen:
            trained, base = self._trained(case, files, seed), template.base(seed)
            self._seen[key] = judged(template, spread.load(template), trained, base)
        return self._seen[key]

    def strays(self, case: Case, mended: Files, *, seed: int, healthy: Files) -> str:
        """Why what a run made that is healthy did not come out of training on its data, or "".

        Args:
            healthy: the files without the fault, which must train to a healthy run on this seed.
        """
        if _key(case, mended, seed) == _key(case, healthy, seed):
            return ""
        template = templates.load(case.template)
        base = template.base(seed)
        theirs, ours = (self._trained(case, files, seed) for files in (mended, healthy))
        result = Result(theirs.files, base)
        told = strays(template, spread.load(template), result, Result(ours.files, base))
        look = mechanism.LOOK_AT.get(case.template)
        if look == "learned":
            told = told or mechanism.too_few_rows(theirs.seen, ours.seen, result)
        if look == "paid":
            told = told or self._unpaid(case, mended, seed)
        return told

    def _unpaid(self, case: Case, mended: Files, seed: int) -> str:
        """Why a run that pays for replies does not learn from that, or ""."""
        places = mechanism.paid_in(self._trained(case, mended, seed))
        by_chance = with_chance_pay(mended, places) if places else None
        if not by_chance:
            return "what pays for replies stands in no function of these files"
        template = templates.load(case.template)
        trained = self._trained(case, by_chance, seed)
        return learns_unpaid(template, spread.load(template), trained, template.base(seed))

    def _trained(self, case: Case, files: Files, seed: int) -> Trained:
        """What these files were trained into; the newest are kept."""
        key, template = _key(case, files, seed), templates.load(case.template)
        if key not in self._newest:
            self._newest[key] = self.trainers.train(
                files,
                template.base(seed),
                seed=seed,
                cpu_s=cpu_limit(spread.load(template)),
                look_at=mechanism.LOOK_AT.get(case.template, ""),
            )
            for old in list(self._newest)[:-NUM_KEPT]:
                del self._newest[old]
        return self._newest[key]


def _key(case: Case, files: Files, seed: int) -> str:
    """One key for folders that train alike; the seed in config.yaml is replaced before a run."""
    settings = re.sub(r"(?m)^seed:.*$", "", files["config.yaml"])
    said = json.dumps([case.template, seed, files | {"config.yaml": settings}], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def variants(case: Case, healthy: Files) -> Iterator[tuple[str, Files]]:
    """Every variant with its files; those of `must_pass` must pass, and no other may."""
    whole = planting.broken(case, healthy)
    yield BROKEN, whole
    yield FIX, healthy
    numbers = range(len(case.faults))
    for size in range(1, len(case.faults)):
        for mended in combinations(numbers, size):
            said = " and ".join(str(number + 1) for number in mended)
            yield f"only {said} mended", planting.broken(case, healthy, mended=frozenset(mended))
    yield from undone_alone(case, healthy)
    for name, change in attacks.STANDARD.items():
        if name not in case.spares:
            yield name, change(whole)
    for name, changes in case.non_fixes.items():
        yield name, planting.changed(whole, changes)


def undone_alone(case: Case, healthy: Files) -> Iterator[tuple[str, Files]]:
    """The files with all edits of a fault but one, for each edit that the others can do without."""
    plant = case.faults[0].plant
    if len(case.faults) > 1 or len(plant) == 1:
        return
    for number in range(1, len(plant) + 1):
        said = ENOUGH if number in case.faults[0].enough else ""
        try:
            files = planting.changed(healthy, plant[: number - 1] + plant[number:])
        except DoesNotFit:
            continue
        yield f"{UNDONE}{number} undone{said}", files


def must_pass(variant: str) -> bool:
    """Whether a variant of this name is a fix.

    >>> must_pass("the fix"), must_pass("only edit 2 undone, which is enough"), must_pass("broken")
    (True, True, False)
    """
    return variant == FIX or variant.endswith(ENOUGH)


def fingerprint(case: Case) -> str:
    """A hash of everything that is trained: every variant's files, and the template."""
    template = templates.load(case.template)
    files = dict(variants(case, templates.healthy_files(template, SEEDS[0])))
    trained = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]
    return f"{templates.fingerprint(template)} {trained}"


@dataclass(frozen=True)
class VariantResult:
    """The result of one variant on one seed.

    Attributes:
        is_like_fix: it measures exactly as the fix does that was trained on the same machine, so
            what is left does nothing. On a seed on which the fix is not healthy there, neither is
            this, and the fix alone says so.
    """

    variant: str
    seed: int
    verdict: Verdict
    is_like_fix: bool = False

    @property
    def is_as_it_must_be(self) -> bool:
        """Whether the result is as required: a fault must show in it, more work is not a fault."""
        if self.variant == BROKEN and self.verdict.is_only_larger:
            return False
        if self.variant.endswith(ENOUGH) and self.is_like_fix:
            return True
        return self.verdict.is_healthy == must_pass(self.variant)


def proved(case: Case, judge: Judge, seeds: tuple[int, ...] = SEEDS) -> Iterator[VariantResult]:
    """The result of each variant on each seed, one by one."""
    template = templates.load(case.template)
    for seed in seeds:
        healthy = templates.healthy_files(template, seed)
        broken, whole, fix = planting.broken(case, healthy), None, None
        for name, files in variants(case, healthy):
            # Where nothing is raised, there is nothing to catch: it is the broken run again.
            verdict = whole if name == attacks.CATCH and not whole.ended_early else None
            verdict = verdict or judge.verdict(
                case, files, seed=seed, healthy=healthy, handed=broken
            )
            whole = whole or verdict  # the broken run is the first
            fix = verdict if name == FIX else fix
            is_like_fix = bool(fix and verdict.measured and verdict.measured == fix.measured)
            yield VariantResult(name, seed, verdict, is_like_fix)
