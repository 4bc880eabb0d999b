"""Keeps the scores of a bench in a folder, line by line: a call that was stopped goes on there."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from course_utils.errors import BadRequest
from course_utils.oncall.bench.score import Score

RESULTS, PROTOCOL = "results.jsonl", "protocol.json"


@dataclass(frozen=True)
class Protocol:
    """The conditions of a score; scores under the same protocol can be compared.

    Attributes:
        seed_mark: tells secret seeds apart without giving them away.
        num: tickets per level.
        readable: what it could read although that is hidden.
        walls: whether answers were hidden from it.
        budget: looks that a ticket allows; None where its files are open.
        healthy: the share of the tickets that are healthy; 0 where none is said to be.
    """

    command: tuple[str, ...]
    levels: tuple[int, ...]
    num: int
    limit_s: float
    network: bool
    seed_mark: str
    readable: tuple[str, ...] = ()
    walls: bool = True
    budget: int | None = None
    healthy: float = 0.0


def read_scores(out: Path) -> dict[str, Score]:
    """The scores in a folder, by ticket; an incomplete last line does not count."""
    path, scores = out / RESULTS, {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for line in lines:
        try:
            score = Score(**json.loads(line))
        except (ValueError, TypeError):
            continue
        scores[score.name] = score
    return scores


class StoredScores:
    """The results in a folder.

    Raises:
        BadRequest: they are of another command, seed, limit or share of healthy tickets.
    """

    def __init__(self, out: Path, protocol: Protocol) -> None:
        self.path = out / RESULTS
        out.mkdir(parents=True, exist_ok=True)
        said, noted = json.dumps(asdict(protocol)), out / PROTOCOL
        if noted.exists() and json.loads(noted.read_text()) != json.loads(said):
            raise BadRequest(
                f"{out} holds results of another command, seed or limit",
                why="scores that are made in different ways cannot stand in one table",
                fix="name another folder with --out",
            )
        noted.write_text(said)

    def read(self) -> dict[str, Score]:
        return read_scores(self.path.parent)

    def add(self, score: Score) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"\n{json.dumps(asdict(score))}\n")
