"""The record of the proofs: what came of each, and the digest of the sources that it reached.

The whole record is `record.json` beside this module. What is proved anew goes to a file of its own
in `build/prove/` for each part, so that parts can run side by side; reading takes them all.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from course_utils.files.saving import write_atomically
from tests.prove.sources import ROOT, Sources

WHOLE, PARTS = Path(__file__).with_name("record.json"), ROOT / "build" / "prove"


@dataclass(frozen=True)
class Proof:
    """What came of one proof.

    Args:
        reached: the sources that it read, folders with "/" at the end.
        digest: of those sources when it began.
        passed, failed, skipped: tests; a command counts as one.
        seconds: wall time.
        on: the day and the processor's kernels, "2026-11-23, AVX512".
    """

    reached: tuple[str, ...]
    digest: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    on: str


class Record:
    """Proofs by name: those of all files, and `add` for new ones.

    Attributes:
        usual_s: how long each took in the record that belongs to the sources, the same on every
            machine, so that all cut the same parts.
    """

    def __init__(
        self, sources: Sources, part: str = "1/1", *, whole: Path = WHOLE, parts: Path = PARTS
    ) -> None:
        self._sources, self._own = sources, parts / f"{part.replace('/', '_of_')}.json"
        self._whole, self._added = whole, _read(self._own)
        self.usual_s = {name: proof.seconds for name, proof in _read(whole).items()}
        self.proofs: dict[str, Proof] = {}
        for file in (whole, *sorted(parts.glob("*.json"))):
            for name, proof in _read(file).items():
                if name not in self.proofs or self._is_of_today(proof):
                    self.proofs[name] = proof

    def holds(self, name: str) -> bool:
        """Whether it was proved, without a failure, for the sources as they are now."""
        proof = self.proofs.get(name)
        return proof is not None and not proof.failed and self._is_of_today(proof)

    def add(self, name: str, proof: Proof) -> None:
        """Keep a proof, in this part's file as well."""
        self.proofs[name] = self._added[name] = proof
        self._own.parent.mkdir(parents=True, exist_ok=True)
        _write(self._own, self._added)

    def write_whole(self, names: Iterable[str]) -> None:
        """Write the proofs of these names into the record that belongs to the sources."""
        _write(self._whole, {name: self.proofs[name] for name in names if name in self.proofs})

    def _is_of_today(self, proof: Proof) -> bool:
        return self._sources.digest(proof.reached) == proof.digest


def _write(file: Path, proofs: dict[str, Proof]) -> None:
    """One line for each proof; the sources as numbers of lines in one list."""
    sources = sorted({name for proof in proofs.values() for name in proof.reached})
    numbers = {name: number for number, name in enumerate(sources)}
    rows = [
        json.dumps({name: asdict(proof) | {"reached": _spans(map(numbers.get, proof.reached))}})
        for name, proof in sorted(proofs.items())
    ]
    listed = ",\n".join(map(json.dumps, sources))
    inner = ",\n".join(row[1:-1] for row in rows)
    write_atomically(file, f'{{"sources": [\n{listed}\n],\n"proofs": {{\n{inner}\n}}}}\n')


def _read(file: Path) -> dict[str, Proof]:
    if not file.exists():
        return {}
    kept = json.loads(file.read_text(encoding="utf-8"))
    sources = kept["sources"]
    return {
        name: Proof(**row | {"reached": tuple(sources[n] for n in _numbers(row["reached"]))})
        for name, row in kept["proofs"].items()
    }


def _spans(numbers: Iterable[int]) -> str:
    """Sorted numbers as text.

    >>> _spans([1, 2, 3, 7])
    '1-3 7'
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return " ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in spans)


def _numbers(spans: str) -> Iterable[int]:
    """
    >>> list(_numbers("1-3 7"))
    [1, 2, 3, 7]
    """
    for span in spans.split():
        first, _, last = span.partition("-")
        yield from range(int(first), int(last or first) + 1)
