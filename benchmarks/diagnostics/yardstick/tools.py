"""The tools that have an adapter: their versions, their environments, and how each is used."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from course_utils.reproductions.eras.environment import Environment

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
TOOLKIT = "POST_TRAINING_TOOLKIT"


@dataclass(frozen=True)
class Tool:
    """One tool and its adapter.

    Attributes:
        use: how it is used here, as its README says.
        limits: what it is not made for, or could not do here.
        source: the variable that names a checkout, where the package index does not have it.
    """

    name: str
    use: str
    limits: str = ""
    source: str = ""

    @property
    def environment(self) -> Environment | None:
        """An environment of its own, on top of the course's; None for our own tools."""
        is_ours = not (HERE / "locks" / f"{self.name}.txt").exists()
        return None if is_ours else Environment(self.name, on_course=True, locks=HERE / "locks")

    @property
    def version(self) -> str:
        pins = self.environment.pins if self.environment else {}
        return pins.get(self.name, "this commit" if not self.source else "0.2.0 at 7ab9855")

    def command(self) -> list[str]:
        """The words of its command; builds the environment the first time.

        Raises:
            IndexUnreachable: the environment is missing, and no package index answers.
        """
        python = sys.executable
        if self.environment:
            self.environment.ensure()
            python = str(self.environment.python)
        path = [str(ROOT), *([os.environ[self.source]] if self.source else [])]
        asked = "benchmarks.diagnostics.yardstick.adapters"
        return ["env", f"PYTHONPATH={':'.join(path)}", python, "-m", asked, self.name]

    @property
    def is_here(self) -> bool:
        return not self.source or self.source in os.environ


TOOLS = (
    Tool(
        "diagnose",
        "`with diagnose.watching(trainer)` around the run, with the parts of a loop of its own",
        "our own; its rules were written on half of the runs, and on no healthy twin",
    ),
    Tool(
        "explain",
        "`course explain --json` on the pasted log",
        "our own; its rules were written with most of the threads at hand",
    ),
    Tool("runmedic", "`runmedic diagnose log.txt --json`, without its infos"),
    Tool(
        "losslint",
        "`losslint check trainer_state.json --format json`, without its infos",
        "reads metrics, no pasted text",
    ),
    Tool("rldoctor", "`rldoctor diagnose entries.jsonl`", "for GRPO; reads metrics"),
    Tool(
        "rlwatch",
        "its detectors in each step, with the fields that its TRL callback hands on",
        "for GRPO and PPO; by default most detectors wait for tens of steps",
    ),
    Tool(
        "rlprobe",
        "`attach(trainer, folder)`, and its doctor on the recording",
        "for GRPO and RLOO; it pins trl 1.7, and runs here with the course's",
    ),
    Tool(
        "guardtower",
        "`GuardtowerCallback` or `audit` on the first batch, and `monitor` around the whole run",
        "needs a batch that gives a loss: no GRPO, no DPO",
    ),
    Tool(
        "peft-doctor",
        "`diagnose_peft(model, ...)` before the run, `scan-log` on the log; errors only, since a "
        "CPU and a full fine-tuning alone make it warn",
        "for LoRA and QLoRA",
    ),
    Tool(
        "post-training-toolkit",
        "`DiagnosticsCallback` in the run, then its heuristics on its metrics, without low ones",
        "TRL's trainers alone. The package of this name on the index is an empty placeholder "
        "(0.0.1); from its repository",
        source=TOOLKIT,
    ),
    Tool(
        "traincheck",
        "`collect`, `infer` on a healthy run with another seed, then `collect` and `check`",
        "only alarms; each of its four steps has two minutes. Tried on one run so far, the healthy "
        "GRPO run: its collector ended with a segmentation fault (torch 2.13)",
    ),
)
