"""The snippets of docs/beside.md are the files that run here."""

import runpy
from pathlib import Path

import pytest
import torch
from diagnosed_runs import TRAINERS  # noqa: F401  imports TRL before the clock of a test starts
from whole import cases

from course_utils import zoo
from course_utils.reproductions.lesson_07 import never_stops

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


def train_in(name: str) -> callable:
    return runpy.run_path(str(DOCS / "beside" / f"{name}.py"))["train"]


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


@pytest.mark.parametrize("name", cases(["trainer", "accelerate_loop", "lightning_run"], kind=str))
def test_a_snippet_prints_the_report_of_its_run(name, capsys, tmp_path, monkeypatch):
    if name == "lightning_run":
        pytest.importorskip("lightning", reason="lightning is not among the course's packages")
    monkeypatch.chdir(tmp_path)
    tokenizer, model = zoo.load_tokenizer("tiny"), zoo.load_policy("tiny", device="cpu")
    data = never_stops.chats(24) if name == "trainer" else batches(tokenizer)
    train_in(name)(model, tokenizer, data)
    said = capsys.readouterr().out
    assert ": nothing found\n" in said
    assert "losses, gradients, weights: finite in 4 steps" in said
    assert "tokens: 8 rows" in said


def test_a_loop_that_hides_the_end_is_named_without_a_batch_that_was_given(capsys):
    tokenizer, model = zoo.load_tokenizer("tiny"), zoo.load_policy("tiny", device="cpu")
    data = list(batches(tokenizer))
    for batch in data:
        labels = batch["labels"]
        labels[labels == tokenizer.eos_token_id] = -100
    train_in("accelerate_loop")(
        model, tokenizer, torch.utils.data.DataLoader(data, batch_size=None)
    )
    assert "the end of all 8 replies is there and has no label" in capsys.readouterr().out
