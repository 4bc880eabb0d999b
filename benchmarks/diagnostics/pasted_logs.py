"""Ten logs as people pasted them in threads, and what `course explain` answers: docs/diagnosis.md.

Failures of each kind, two that only look like one, and one that a log cannot tell.
"""

from pathlib import Path

from course_utils.explain import explain

PASTED = Path(__file__).parents[2] / "tests" / "helpers" / "pasted"
SHOWN = (
    *("trl-1199", "ms-swift-4711", "trl-5697", "trl-1236", "open-r1-255"),
    *("open-r1-239", "DeepSpeed-931", "verl-721", "LlamaFactory-7396", "trl-570"),
)
MOST_LINES, WIDTH = 6, 200


def sections() -> list[str]:
    """Lines of Markdown: of each log the first lines, and the whole answer."""
    lines = []
    for name in SHOWN:
        text = (PASTED / f"{name}.txt").read_text(encoding="utf-8")
        repository, _, number = name.rpartition("-")
        lines += ["", f"### {repository}#{number}", "", "```text", *_first(text), "```"]
        lines += ["", "```text", *str(explain(text)).splitlines(), "```"]
    return lines


def _first(text: str) -> list[str]:
    rows = text.splitlines()
    rest = [f"... and {len(rows) - MOST_LINES} more lines"] if len(rows) > MOST_LINES else []
    return [row[:WIDTH] + "..." * (len(row) > WIDTH) for row in rows[:MOST_LINES]] + rest
