"""Runs an era's script, then and now, and judges its symptoms. Changes no script and no model."""

import importlib.metadata
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from course_utils.diagnostics.processes.children import run_process
from course_utils.errors import Unsupported
from course_utils.reproductions.eras.declare import Change, Era, Sign
from course_utils.reproductions.eras.model import export_model
from course_utils.shown.report import Table

LIMIT_S = 900.0  # on a busy machine; alone each takes 10 to 30 s
WHEN = ("then", "now")
# The same on every machine: no GPU, one thread, no hub.
CHILD = {
    "PYTHONPATH": "",
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "ACCELERATE_MIXED_PRECISION": "no",
}


def measure(era: Era, when: str) -> dict:
    """Run the script in the versions of its day ("then") or of today ("now").

    Returns:
        The facts: the JSON in the last line of what the script printed.

    Raises:
        Unsupported: the script ended with an error.
        IndexUnreachable: an environment is to be built, and no index answers.
    """
    environment = era.then if when == "then" else era.now
    if environment is not None:
        environment.ensure()
    python = environment.python if environment is not None else sys.executable
    with tempfile.TemporaryDirectory(prefix="course-era-") as folder:
        script, model = Path(folder, f"{era.stem}.py"), Path(folder, "model")
        export_model(folder=model, **era.model)
        script.write_text(era.script(when), encoding="utf-8")
        argv = [python, "-I", "-X", "faulthandler", "-u", script, model, Path(folder, "out")]
        env = {**CHILD, "HF_HOME": str(Path(folder, "hf")), "TMPDIR": folder}
        done = run_process([str(part) for part in argv], timeout_s=LIMIT_S, env=env)
    if done.exit_code == 0:
        return json.loads(done.stdout.splitlines()[-1])
    said = done.stderr.strip().splitlines() or ["nothing"]
    raise Unsupported(
        f"the script of {era.stem} ended with exit code {done.exit_code} ({when}): {said[-1]}",
        why="it catches the failures that it is about, so this is another one",
        fix=f"run `course era --remove {era.number}` and try again; if it stays, report it",
    )


@dataclass(frozen=True)
class ThenAndNow:
    """What one era's script measured, in one or both versions."""

    era: Era
    facts: dict[str, dict]  # "then" and "now", or one of them

    def expected(self, symptom: Sign, when: str) -> bool:
        return True if when == "then" else symptom.today

    def as_expected(self, symptom: Sign, when: str) -> bool:
        return symptom.holds(self.facts[when]) == self.expected(symptom, when)

    @property
    def is_proven(self) -> bool:
        """Whether every symptom was there then, and today is there or not as declared."""
        return all(self.as_expected(s, when) for s in self.era.symptoms for when in self.facts)

    def table(self) -> Table:
        rows = [(s.name, *(self._cell(s, when) for when in self.facts)) for s in self.era.symptoms]
        return Table(columns=("symptom", *self.facts), rows=rows)

    def _cell(self, symptom: Sign, when: str) -> str:
        facts = self.facts[when]
        word = "reproduced" if symptom.holds(facts) else "not reproduced"
        unlike = "" if self.as_expected(symptom, when) else ", NOT AS EXPECTED"
        return f"{word}{unlike}: {symptom.shows(facts)}"

    def text(self) -> str:
        era = self.era
        parts = [f"{era.row.failure}  ({era.thread})"]
        parts += [f"Nearest versions that run: {era.pinned_near}"] if era.pinned_near else []
        versions = {"then": era.versions, "now": versions_now(era)}
        parts += ["\n".join(f"{when.ljust(4)}  {versions[when]}" for when in self.facts)]
        parts += [self.table().text()]
        if "then" in self.facts:
            parts += [_changes("From the report to the script", "reported", era.deviations)]
        if "now" in self.facts:
            parts += [_changes("From the script to that of today", "then", era.changes)]
        return "\n\n".join(parts)

    __str__ = text


def versions_now(era: Era) -> str:
    """The versions in which the script runs today."""
    own = era.now.pins if era.now else {}
    found = {name: own.get(name) or importlib.metadata.version(name) for name in era.packages}
    return ", ".join(f"{name} {version}" for name, version in found.items())


def _changes(title: str, before: str, changes: tuple[Change, ...]) -> str:
    rows = [(_one_line(c.old), _one_line(c.new), c.why) for c in changes]
    return Table(columns=(before, "here", "why"), rows=rows, title=title).text()


def _one_line(text: str) -> str:
    return " ".join(text.split()) or "(nothing)"
