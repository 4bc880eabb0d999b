"""Beside somebody's run: the instruments need torch and numpy, and say so where they need more."""

import json
import subprocess
import sys
import tomllib

import pytest
from course_command import ROOT
from packaging.requirements import Requirement
from torch import nn
from transformers import TrainerCallback

from course_utils.diagnostics import DiagnoseCallback, NonFiniteGuard, TruthAudit, diagnose
from course_utils.diagnostics.diagnosis.looks.versions import FLOORS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# What `brokenruns[course]` brings beside torch and numpy, by the names that are imported.
BEYOND = [
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "datasets",
    "tokenizers",
    "safetensors",
    "huggingface_hub",
    "matplotlib",
    "psutil",
    "dill",
    "libcst",
    "packaging",
    "yaml",
    "click",
    "IPython",
    "traitlets",
    "nbformat",
]
WITHOUT = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused}:
            raise ModuleNotFoundError(f"no {{name}}", name=name)

sys.meta_path.insert(0, Refuse())
"""
LOOP = """
import torch
from torch import nn
from course_utils.diagnostics import *

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.high = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x, y):
        return {"loss": (self.high(self.low(x).relu()) - y).square().mean()}

class Letters:  # a tokenizer of one's own
    eos_token_id, bos_token_id, pad_token_id, chat_template = 1, None, 0, None
    def decode(self, ids, **_):
        return "".join(chr(96 + int(i)) for i in ids)
    convert_ids_to_tokens = lambda self, ids: [self.decode([i]) for i in ids]

def begin():
    torch.manual_seed(0)
    model = Net()
    return model, torch.optim.SGD(model.parameters(), lr=0.01), {
        "x": torch.randn(6, 4), "y": torch.randn(6, 1)
    }

def step(spoil=1.0):
    optimizer.zero_grad()
    (loss_of(batch) * spoil).backward()
    optimizer.step()

loss_of = lambda batch: model(**batch)["loss"]
"""
# What each instrument does in a loop without a Trainer, and what it must say of it.
CALLS = {
    "diagnose": ("model.requires_grad_(False); print(diagnose(model))", "No weight is trainable"),
    "diagnose.watching": (
        "with diagnose.watching(model, batch=batch, optimizer=optimizer) as run: step()\n"
        "print(run.report)",
        "Moved by a step",
    ),
    "audit_step": ("print(audit_step(model, batch, optimizer))", "step"),
    "audit_gradients": (
        "optimizer.param_groups[0]['params'].pop(0)\n"
        "print(audit_gradients(model, batch, optimizer=optimizer))",
        "low.weight",
    ),
    "inspect_batch": (
        "ids = torch.tensor([[3, 4, 1], [5, 6, 1]])\n"
        "print(inspect_batch({'input_ids': ids, 'labels': ids}, Letters()))",
        "2 rows",
    ),
    "watch": (
        "model.high.weight.data[0, 0] = float('nan')\nwith watch(model): step()",
        "high.weight",
    ),
    "trace_step": ("batch['y'][0] = float('inf'); print(trace_step(model, batch))", "inf"),
    "NonFiniteGuard": (
        "guard = NonFiniteGuard(action='stop')\n"
        "step(float('nan')); guard.check(step=1, model=model); print(guard)",
        "low.weight is not finite",
    ),
    "profile_ranges": ("print(profile_ranges(model, batch))", "float16"),
    "compare_models": ("print(compare_models(model, Net()))", "low.weight"),
    "simulate_logged_loss": (
        "print(simulate_logged_loss([1.0, 3.0], logging_steps=2, gradient_accumulation_steps=1))",
        "[2.0]",
    ),
    "diagnose_cublas": ("print(diagnose_cublas(read_cublas_environment()))", "trl#2906"),
}
EACH = """
import io, json, traceback
from contextlib import redirect_stdout

found = {{}}
for name, call in {calls}.items():
    model, optimizer, batch = begin()
    with redirect_stdout(io.StringIO()) as said:
        try:
            exec(call)
        except Exception:
            print(traceback.format_exc())
    found[name] = said.getvalue()
print(json.dumps(found))
"""


def without(refused: list[str], code: str) -> subprocess.CompletedProcess:
    whole = WITHOUT.format(refused=set(refused)) + code
    return subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True)


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What each instrument printed; the first line of the loop imports them all."""
    done = without(
        BEYOND, LOOP + EACH.format(calls={name: call for name, (call, _) in CALLS.items()})
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", CALLS)
def test_an_instrument_answers_with_torch_and_numpy_alone(said, name):
    assert "Traceback" not in said[name] and CALLS[name][1] in said[name], said[name]


def test_all_that_the_course_alone_declares_is_refused_here():
    of = {name: {Requirement(line).name for line in EXTRAS[name]} for name in EXTRAS}
    imported = {"pyyaml": "yaml", "ipython": "IPython", "huggingface-hub": "huggingface_hub"}
    beyond = of["course"] - of["diagnose"] - {"filelock", "jinja2"}  # torch itself needs them
    assert {imported.get(name, name) for name in beyond} == set(BEYOND)


def test_a_child_without_its_packages_says_how_to_get_them():
    code = "from course_utils.diagnostics import run_in_child; run_in_child({})"
    for package, target in {"psutil": "['true']", "dill": "print, 1"}.items():
        stderr = without([package], code.format(target)).stderr
        assert f"Unsupported: a child process needs the package {package}" in stderr
        assert stderr.endswith("fix: pip install dill psutil\n")


def test_our_callbacks_take_every_event_of_a_trainer():
    events = [name for name in vars(TrainerCallback) if name.startswith("on_")]
    assert len(events) > 10
    callbacks = NonFiniteGuard, DiagnoseCallback, TruthAudit
    for callback in (kind.__new__(kind) for kind in callbacks):
        assert all(callable(getattr(callback, name)) for name in events)
        assert not hasattr(callback, "training_step")


def test_an_older_package_is_named_among_what_was_not_seen(monkeypatch):
    assert "all of torch" not in diagnose(nn.Linear(2, 1)).unseen
    monkeypatch.setitem(FLOORS, "torch", (99, 0))
    why = diagnose(nn.Linear(2, 1)).unseen["all of torch"]
    assert why.endswith("and the looks were seen to run from 99.0 on")


def test_the_extra_for_a_run_of_ones_own_has_floors_and_no_upper_bounds():
    assert PROJECT["dependencies"] == [] and PROJECT["requires-python"] == ">=3.11"
    major, minor = FLOORS["torch"]
    assert f"torch>={major}.{minor}" in EXTRAS["diagnose"]
    assert {next(iter(Requirement(line).specifier)).operator for line in EXTRAS["diagnose"]} == {
        ">="
    }
