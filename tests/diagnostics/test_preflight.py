"""`course preflight` looks at a script's first batch, ends it there, and leaves nothing behind."""

import json
import subprocess
from pathlib import Path

import pytest
import torch
from course_command import COURSE
from whole import cases

from course_utils.causes.schema import SCHEMA
from course_utils.commands.preflight import preflight

SCRIPTS = Path(__file__).parents[1] / "helpers" / "scripts"
BROKEN = {
    ("sft.py", "--frozen"): "No weight is trainable",
    ("sft.py", "--learning-rate", "0"): "learning_rate is 0",
    ("dpo.py", "--broken"): "chosen and rejected have the same reply tokens",
    ("grpo.py", "--broken"): "drawn with repetition_penalty 1.3",
    ("plain_trainer.py", "--broken"): "pad is the end (id 319)",
    ("loop.py", "--broken"): "The end of all 8 replies is there and has no label",
}
# Of each script, what it asks for that a machine without a GPU has not.
HEALTHY = {
    "sft.py": "",
    "grpo.py": "the script asked for fp16=True, use_vllm=True and got the CPU",
    "loop.py": "the script asked for cuda and got the CPU",
    "plain_trainer.py": "the script asked for cuda and got the CPU",
    "dpo.py": "",
}


def written(folder: Path, text: str) -> str:
    (folder / "train.py").write_text(text, encoding="utf-8")
    return "train.py"


@pytest.mark.parametrize("name", cases(HEALTHY))
def test_a_healthy_script_ends_with_0_and_leaves_no_file(name, tmp_path):
    """As a user starts it."""
    command = [COURSE, "preflight", str(SCRIPTS / name)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ": nothing found\n" in done.stdout
    assert "Row 0 reads " in done.stdout or "Row 0 asks " in done.stdout
    assert "no step was taken" in done.stdout
    if not torch.cuda.is_available():
        assert HEALTHY[name] in " ".join(done.stdout.split())
        assert bool(HEALTHY[name]) == ("a GPU: " in done.stdout)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", cases(BROKEN))
def test_a_broken_script_ends_with_1_and_its_cause(call, course_preflight, tmp_path):
    name, *arguments = call
    dashes = ["--"] if "0" in call else []  # with or without them
    done = course_preflight(tmp_path, str(SCRIPTS / name), *dashes, *arguments)
    assert done.returncode == 1, done.stderr
    assert BROKEN[call] in " ".join(done.stdout.split())
    assert list(tmp_path.iterdir()) == []


def test_the_report_is_written_as_json_with_the_version_of_its_form(course_preflight, tmp_path):
    kept = tmp_path / "report.json"
    script = str(SCRIPTS / "loop.py")
    done = course_preflight(tmp_path, "--json", str(kept), script, "--", "--broken")
    assert done.returncode == 1, done.stderr
    data = json.loads(kept.read_text(encoding="utf-8"))
    assert data["schema"] == SCHEMA and data["causes"][0]["key"] == "end_masked"
    assert "the run" in data["unseen"]


def test_weights_that_the_loop_leaves_without_a_gradient_are_counted(course_preflight, tmp_path):
    name = written(
        tmp_path,
        "import torch\n"
        "model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))\n"
        "optimizer = torch.optim.SGD(model.parameters())\n"
        "hidden = model(torch.ones(1, 2)).detach()\n"
        "model[1](model[0](torch.ones(1, 2)).detach()).sum().backward()\n"
        "optimizer.step()\n",
    )
    assert "2 of 4 trainable tensors have one; the first" in course_preflight(tmp_path, name).stdout


def test_an_optimizer_with_a_closure_is_looked_at_too(course_preflight, tmp_path):
    name = written(
        tmp_path,
        "import torch\n"
        "model = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.LBFGS(model.parameters())\n"
        "def closure():\n"
        "    loss = model(torch.ones(1, 2)).sum()\n"
        "    loss.backward()\n"
        "    return loss\n"
        "optimizer.step(closure)\n",
    )
    assert "2 of 2 trainable tensors have one" in course_preflight(tmp_path, name).stdout


NOT_COME_SO_FAR = {
    "raise KeyError('prompt')": "train.py raised KeyError before it began to train\n",
    "raise RuntimeError('Found no NVIDIA driver')": "there is no GPU here, which may be why",
    "import nothing_of_this_name": "train.py raised ModuleNotFoundError",
    "a = = 1": "train.py raised SyntaxError",
    "print('done')": "ended without training: no Trainer.train() and no optimizer step",
    "import sys; sys.exit(4)": "train.py exited with 4 before it began to train",
    "import os; os._exit(0)": "train.py ended the process itself, with exit code 0",
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": "with exit code -11",
    "import argparse; p = argparse.ArgumentParser(); p.add_argument('--data', required=True);"
    "p.parse_args()": "give the arguments that it needs: course preflight train.py -- ARGS",
    "import torch; w = torch.ones(1, requires_grad=True); w.sum().backward();"
    "torch.optim.SGD([w]).step()": "whose weights are in no model that was called",
}


@pytest.mark.parametrize("text", cases(NOT_COME_SO_FAR))
def test_a_script_that_does_not_train_ends_with_2_and_the_reason(text, course_preflight, tmp_path):
    done = course_preflight(tmp_path, written(tmp_path, text))
    assert done.returncode == 2, done.stdout
    assert NOT_COME_SO_FAR[text] in done.stderr
    assert "\n  fix: " in done.stderr


TRACES = {
    "def load():\n    raise KeyError('prompt')\n\n\nload()\n": (
        'Traceback (most recent call last):\n  File "train.py", line 5, in <module>\n    load()\n'
    ),
    "a = = 1": '  File "train.py", line 1\n',
}


@pytest.mark.parametrize("text", cases(TRACES))
def test_the_traceback_of_a_script_begins_in_the_script(text, course_preflight, tmp_path):
    assert course_preflight(tmp_path, written(tmp_path, text)).stderr.startswith(TRACES[text])


def test_a_file_that_is_not_there_ends_with_2(course_preflight, tmp_path):
    done = course_preflight(tmp_path, "missing.py")
    assert done.returncode == 2
    assert done.stderr.startswith("there is no file 'missing.py'\n")


def test_the_help_says_what_each_exit_code_means():
    assert "Exit 0: nothing was found. Exit 1: a cause was. Exit 2" in preflight.help
