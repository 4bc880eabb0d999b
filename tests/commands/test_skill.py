"""What SKILL.md tells an agent to run runs, and gives what it says."""

import json
import re
import subprocess
from pathlib import Path

import torch
import yaml
from course_command import COURSE, ROOT
from transformers import LlamaConfig, LlamaForCausalLM

SKILL = ROOT / "docs" / "skills" / "debug-training-run" / "SKILL.md"
TEXT = SKILL.read_text(encoding="utf-8")
EXPLAIN, PREFLIGHT = re.findall(r"```sh\n(.*?)\n```", TEXT, re.DOTALL)
CALLBACK, LOOP = re.findall(r"```python\n(.*?)\n```", TEXT, re.DOTALL)
SCRIPT = Path(__file__).parents[1] / "helpers" / "scripts" / "plain_trainer.py"
LOG = "".join(f"{{'loss': {loss}, 'grad_norm': nan}}\n" for loss in ("0.69", "nan", "0.0"))


def ran(command, folder):
    name, *arguments = command.split()
    assert name == "course"
    return subprocess.run([COURSE, *arguments], cwd=folder, capture_output=True, text=True)


def test_its_head_has_the_common_form():
    head = yaml.safe_load(TEXT.split("---")[1])
    assert head["name"] == SKILL.parent.name and set(head) == {"name", "description"}
    assert len(head["description"]) <= 1024


def test_explain_answers_with_the_names_that_it_gives(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "console.log").write_text(LOG)
    finding = json.loads(ran(EXPLAIN, tmp_path).stdout)["findings"][0]
    names = re.findall(r"`(\w+)`", TEXT.partition("## 2.")[0])
    assert {"key", "says", "fix", "for", "against"} <= {*names} & {*finding}


def test_preflight_ends_with_the_codes_that_it_gives(course_preflight, tmp_path):
    course, preflight, *arguments = PREFLIGHT.replace("train.py", f"{SCRIPT} -- --broken").split()
    assert (course, preflight) == ("course", "preflight")
    broken = course_preflight(tmp_path, *arguments)
    assert broken.returncode == 1, broken
    (tmp_path / "train.py").write_text("import no_such_module\n")
    assert course_preflight(tmp_path, "train.py").returncode == 2


def test_its_loop_trains_and_its_report_is_data(capsys):
    torch.manual_seed(0)
    small = LlamaConfig(
        vocab_size=20,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    model, ids = LlamaForCausalLM(small), torch.randint(0, 20, (2, 6))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    names = {"model": model, "optimizer": optimizer}
    exec(LOOP, names | {"batches": [{"input_ids": ids, "labels": ids}] * 3}, found := {})
    said = found["run"].report.to_dict()
    assert "causes" in said and capsys.readouterr().out


def test_its_callback_rides_along():
    added = []

    class Trainer:
        add_callback = staticmethod(added.append)

        def train(self):
            assert added

    exec(CALLBACK, {"trainer": Trainer()})
    assert [type(one).__name__ for one in added] == ["DiagnoseCallback"]
