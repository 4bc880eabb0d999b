"""A script that cannot be changed is run with `diagnose` riding along, and its report printed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE = "course_utils.diagnostics.diagnosed_script"
FROZEN = """
import beside  # a module of the script's folder
import torch
from transformers import Trainer, TrainingArguments

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1).requires_grad_(False)
    def forward(self, x, labels):
        return {"loss": (self.layer(x) - labels).square().mean()}

rows = [{"x": torch.ones(2), "labels": torch.ones(1)} for _ in range(8)]
print("the script's own words")
given = TrainingArguments("out", max_steps=2, report_to=[], use_cpu=True)
Trainer(Model(), given, train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("script", "said"),
    [(FROZEN, "No weight is trainable"), ("1 / 0\n", "the run left nothing")],
)
def test_the_report_is_printed_and_nothing_of_the_script(script, said, tmp_path):
    (tmp_path / "train.py").write_text(script)
    (tmp_path / "beside.py").touch()
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-m", MODULE, "train.py"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert said in ran.stdout and "own words" not in ran.stdout
