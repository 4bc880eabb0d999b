"""Scores of benchmarks beside a log: a reward model that is right on its own pairs alone."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import share
from course_utils.explain.paste.log import Log, finite

_BENCHMARK = re.compile(r"reward ?bench|\bRM[- ]?bench\b|judge ?bench", re.IGNORECASE)
_SCORE = re.compile(r"^\W*([A-Z][\w -]{1,30}?)\s*[:|]?\s+(0\.\d+|\d?\d(?:\.\d+)? ?%)\W*$")
RIGHT, WRONG = 0.65, 0.4  # of pairs: on its own evaluation; on a benchmark, where a coin has 0.5
FEWEST, NEXT = 2, 12  # scores; lines behind the name of a benchmark
SURE = 6.0


def turned_round(beside: Beside, log: Log) -> Iterator[Finding]:
    """Right on its own pairs, below a coin on others': both splits have the columns exchanged."""
    hits = finite(log.values("eval_accuracy") or log.values("accuracy"))
    lines = beside.words
    at = next((n for n, line in enumerate(lines) if _BENCHMARK.search(line.text)), None)
    if not hits or hits[-1] < RIGHT or at is None:
        return
    matched = ((line, _SCORE.match(line.text)) for line in lines[at + 1 : at + NEXT])
    scores = [(line, found) for line, found in matched if found]
    low = [(line, found) for line, found in scores if share(found[2]) < WRONG]
    if len(low) < FEWEST or len(low) < len(scores):
        return
    said = ", ".join(f"{found[1].strip()} {found[2]}" for _, found in low)
    yield Finding(
        "pairs_inverted",
        SURE,
        low[0][0],
        (
            f"{low[0][0].where} and behind it: {said}; a coin has 0.5",
            f"on pairs of its own {hits[-1]:.3g}",
        ),
        why="the model prefers the worse replies, and its own evaluation does not show it: chosen "
        "and rejected are exchanged in training and evaluation alike",
        advice="read ten rows of the file, then exchange the two columns and train again",
    )
