"""The snippets of docs/beside.md are the files that run here."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from diagnosed_runs import ON_CPU
from trl import SFTConfig

from course_utils import zoo
from course_utils.reproductions.lesson_07 import never_stops
from course_utils.zoo import training

DOCS = Path(__file__).parents[2] / "docs"
SNIPPETS = sorted((DOCS / "beside").glob("*.py"))


def batches(tokenizer) -> torch.utils.data.DataLoader:
    """Four batches with labels, as a loop of one's own makes them."""
    made = []
    for start in range(0, 32, 8):
        chats = [[*row["prompt"], *row["completion"]] for row in never_stops.chats(32)]
        batch = dict(
            tokenizer.apply_chat_template(
                chats[start : start + 8],
                return_dict=True,
                return_tensors="pt",
                padding=True,
                padding_side="right",
            )
        )
        is_padding = batch["attention_mask"] == 0
        made.append(batch | {"labels": batch["input_ids"].masked_fill(is_padding, -100)})
    return torch.utils.data.DataLoader(made, batch_size=None)


def run(name: str, *arguments, function: str = "train") -> None:
    runpy.run_path(str(DOCS / "beside" / f"{name}.py"))[function](*arguments)


def test_the_page_holds_every_snippet_word_by_word():
    page = (DOCS / "beside.md").read_text(encoding="utf-8")
    assert len(SNIPPETS) == 6
    for path in SNIPPETS:
        assert f"```python\n{path.read_text(encoding='utf-8')}```" in page, path.name


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_every_snippet_names_what_is_there(path):
    text = path.read_text(encoding="utf-8")
    [line] = [one for one in text.splitlines() if one.startswith("from course_utils")]
    exec(line, {})
    compile(text, path, "exec")


def test_the_trainers_snippet_prints_the_report_of_its_run(capsys):
    args = SFTConfig(**training.quiet_config(), **ON_CPU)
    model, tokenizer = zoo.load_policy("tiny", device="cpu"), zoo.load_tokenizer("tiny")
    run("trainer", model, args, tokenizer, never_stops.chats(24))
    assert_healthy(capsys.readouterr().out)


def test_the_snippet_of_a_loop_prints_the_report_of_its_run(capsys):
    model, tokenizer = zoo.load_policy("tiny", device="cpu"), zoo.load_tokenizer("tiny")
    run("accelerate_loop", model, tokenizer, batches(tokenizer))
    assert_healthy(capsys.readouterr().out)


@pytest.mark.filterwarnings("ignore")  # Lightning's own, of its loader and of torch
@pytest.mark.parametrize("is_broken", [False, True])
def test_lightnings_snippet_prints_the_report_of_its_run(is_broken, capsys, tmp_path, monkeypatch):
    pytest.importorskip("lightning", reason="lightning is not among the course's packages")
    monkeypatch.chdir(tmp_path)
    model, tokenizer = zoo.load_policy("tiny", device="cpu"), zoo.load_tokenizer("tiny")
    if is_broken:
        monkeypatch.setattr(torch.optim.AdamW, "step", runs_out_of_memory)
        with pytest.raises(RuntimeError, match="out of memory"):
            run("lightning_run", model, tokenizer, batches(tokenizer))
        assert "The GPU's memory is full." in capsys.readouterr().out
    else:
        run("lightning_run", model, tokenizer, batches(tokenizer))
        assert_healthy(capsys.readouterr().out)
    assert list(tmp_path.iterdir()) == []


def runs_out_of_memory(*_args, **_kwargs) -> None:
    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")


def assert_healthy(said: str) -> None:
    assert ": nothing found\n" in said
    assert "Moved by a step: " in said and "Row 0 reads " in said


def test_a_loop_that_hides_the_end_is_named_without_a_batch_that_was_given(capsys):
    model, tokenizer = zoo.load_policy("tiny", device="cpu"), zoo.load_tokenizer("tiny")
    data = list(batches(tokenizer))
    for batch in data:
        batch["labels"][batch["labels"] == tokenizer.eos_token_id] = -100
    run("accelerate_loop", model, tokenizer, torch.utils.data.DataLoader(data, batch_size=None))
    assert "The end of all 8 replies is there and has no label" in capsys.readouterr().out


@pytest.mark.parametrize("shift", [1, 0])
def test_openrlhfs_snippet_reads_its_loss_mask(shift, capsys):
    """In OpenRLHF a 1 stands one token before the token that is learnt."""
    model, tokenizer = zoo.load_policy("tiny", device="cpu"), zoo.load_tokenizer("tiny")
    batch = next(iter(batches(tokenizer)))
    learnt = (batch["labels"] != -100).roll(-shift, 1).float()
    learnt[:, -shift:] = 0
    given = [part[:, None] for part in (batch["input_ids"], batch["attention_mask"], learnt)]
    run("openrlhf_sft", SimpleNamespace(model=model), tokenizer, [given], function="look")
    said = capsys.readouterr().out
    assert ("Qwen2ForCausalLM: nothing found" in said) == (shift == 1)
