"""Each ticket is written in its own way: the same run in other files, whose places are known."""

import ast
import os  # noqa: F401  which the asked branches read
import sys
from difflib import SequenceMatcher
from itertools import product

import pytest
import torch
import yaml
from whole import IS_WHOLE
from whole import cases as some

from course_utils.oncall import cases, folder, judging, templates
from course_utils.oncall.binaries import TENSORS
from course_utils.oncall.rows import as_rows
from course_utils.oncall.training import Trainers
from course_utils.oncall.varying import smoke, varied

CASES, TEMPLATES = cases.names(), templates.names()
SEEDS = range(12) if IS_WHOLE else range(1)
LEAST = 40  # lines by which two tickets of a template differ


def template_of(name: str) -> str:
    return cases.load(name).template


def ticket(name: str, seed: int, **given) -> folder.Ticket:
    case = cases.load(name)
    return folder.ticket_of(seed, case.level, case, **given)


def imported_by(text: str) -> set[str | None]:
    return {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("seed", some((7008, 3, 11)))
def test_two_files_may_have_a_helper_of_one_name(seed):
    """The export takes no helper from the file that imports it."""
    for path, text in folder.drawn(ticket("alpha_of_the_library", seed)).handed.items():
        if path.endswith(".py") and path != "train.py":
            assert "train" not in imported_by(text)


@pytest.mark.parametrize("name", some(CASES, template_of))
def test_a_case_keeps_its_faults_and_places_however_it_is_written(name):
    case = cases.load(name)
    plain = folder.drawn(ticket(name, 0, version=folder.AS_THEY_ARE)).places
    for seed in SEEDS:
        drawn = folder.drawn(ticket(name, seed))
        for path, text in [*drawn.healthy.items(), *drawn.handed.items()]:
            if path.endswith(".py"):
                assert path == "train.py" or "train" not in imported_by(text), path
            elif path.endswith(".jsonl"):
                assert as_rows(text), path
            elif not path.endswith(TENSORS):
                yaml.safe_load(text)
        assert drawn.healthy != drawn.handed
        assert len(drawn.places) == len(case.faults) == len(plain)
        for own in drawn.places:
            assert own and any(place.file in drawn.handed for place in own)
        of = templates.load(case.template)
        assert judging.refused(of, drawn.healthy, drawn.handed, drawn.healthy) == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_two_tickets_of_a_template_differ_by_more_than_any_fault(name):
    files = templates.healthy_files(templates.load(name), 0)
    one, other = (varied(files, seed, templates.load(name).sizes) for seed in (1, 2))
    texts = ["".join(t for n, t in sorted(v.items()) if n[-3:] != "onl") for v in (one, other)]
    lines = [[line.strip() for line in text.splitlines() if line.strip()] for text in texts]
    same = sum(block.size for block in SequenceMatcher(None, *lines).get_matching_blocks())
    assert min(map(len, lines)) - same >= LEAST


def test_the_same_ticket_is_always_written_alike_and_an_old_one_as_it_was():
    for name in (CASES[0], CASES[-1]):
        new, again, old = (
            ticket(name, 3),
            ticket(name, 3),
            ticket(name, 3, version=folder.AS_THEY_ARE),
        )
        assert folder.handed_out(new) == folder.handed_out(again)
        assert folder.handed_out(old) != folder.handed_out(new)


@pytest.mark.parametrize(
    ("name", "seed"), some(product(TEMPLATES, range(3)), lambda case: case[0] == TEMPLATES[0])
)
def test_however_it_is_written_the_run_exports_the_same_weights_bit_for_bit(name, seed):
    template = templates.load(name)
    files, base = templates.healthy_files(template, seed), template.base(seed)
    written = [files, *(varied(files, n, template.sizes) for n in (seed, seed + 50))]
    with Trainers() as trainers:
        made = [trainers.train(one, base, seed=seed) for one in written]
    for one in made:
        assert one.code == 0, one.console[-2000:]
    weights = [{n: b for n, b in one.files.items() if n.endswith("safetensors")} for one in made]
    assert weights[0] and weights[0] == weights[1] == weights[2]


@pytest.mark.parametrize("flag", smoke.FLAGS)
def test_no_branch_for_a_quick_try_is_taken_beside_eight_gpus_or_in_ci(flag, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    monkeypatch.setattr(sys, "argv", ["train.py"])
    for name in ("CI", "DEBUG", "SMOKE", "QUICK", "DRY_RUN"):
        monkeypatch.setenv(name, "1")
    for ask in smoke.ASKS:
        assert not eval(ask.format(flag=flag, small=flag.lower())), ask
