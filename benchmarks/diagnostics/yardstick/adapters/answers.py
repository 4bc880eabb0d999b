"""What adapters share: how an answer is put, how a command is asked, and what a case leaves."""

import json
import subprocess
import sys
from pathlib import Path

LIMIT_S = 500


def said(found: list[tuple[str, str]], names: dict[str, str]) -> dict:
    """The answer of a tool that found these (its word, its sentence)."""
    causes = [{"text": text, "names": names.get(word, "").split()} for word, text in found]
    return {"alarm": bool(causes), "causes": causes}


def skipped(why: str) -> dict:
    return {"skipped": why}


def command_of(main: str) -> list[str]:
    """The words that start a command of the tool, given as MODULE:FUNCTION of its entry point."""
    module, _, function = main.partition(":")
    return [sys.executable, "-c", f"import sys, {module} as m; sys.exit(m.{function}())"]


def output_of(main: str, *arguments: str | Path) -> str:
    """What a command of the tool prints; its exit code is about what it found."""
    words = [*command_of(main), *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S).stdout


def entries_in(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "entries.jsonl").read_text().splitlines()]
