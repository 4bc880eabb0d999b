"""Lesson 09's runs: the recorded ones can be repeated, and harm shows on every seed."""

from statistics import mean

import pytest
import torch
from whole import cases

from course_utils.reproductions.lesson_09 import two_engines
from course_utils.reproductions.lesson_09.engine import Engine, quantise
from course_utils.reproductions.lesson_09.policy_pairs import prompts_of
from course_utils.reproductions.lesson_09.two_policies_runs import KINDS, NUM_STEPS, build, recorded
from course_utils.shown.report import Table


def test_runs_with_and_without_each_fix_in_a_table(capsys):
    rows = []
    for kind in KINDS:
        truths = [run.held_out for run in recorded(kind)]
        gap = mean(mean(run.gap) for run in recorded(kind))
        five = " ".join(f"{truth:.2f}" for truth in truths[:5])
        rows.append((kind, f"{gap:.1g}", five, f"{mean(truths):.3f} of {len(truths)}"))
    columns = ("run", "mean |d|", "first five seeds", "mean")
    with capsys.disabled():
        print(f"\n{Table(columns=columns, rows=rows)}")


@pytest.mark.parametrize("kind", cases(["equal", "system prompt"]))
def test_a_recorded_run_can_be_made_again(kind):
    told, run = recorded(kind)[3], build(kind, 3)
    run.train(2)
    assert run.gaps == pytest.approx(told.gap[:2], rel=1e-2, abs=1e-5)
    scores = [step["critic/score/mean"] for step in run.steps]
    assert scores == pytest.approx(told.rollout[:2], abs=0.03)


def test_every_kind_has_its_runs_and_its_columns():
    for kind, declared in KINDS.items():
        runs = recorded(kind)
        assert len(runs) == declared.num_seeds
        assert all(len(run.gap) == len(run.rollout) == NUM_STEPS for run in runs)


def test_another_text_harms_every_seed_and_no_remedy_saves_one():
    for kind in KINDS:
        if kind.startswith("system prompt"):
            pairs = zip(recorded(kind), recorded("equal"), strict=False)
            assert all(sick.held_out < sound.held_out for sick, sound in pairs), kind


def test_the_engine_and_a_plain_forward_agree_to_rounding_and_int8_does_not():
    prompts = prompts_of(2, 16)
    for change, least, most in ((None, 0.0, 1e-5), (quantise, 1e-5, 0.1)):
        run = build("equal", 0)
        run.engine = Engine(change=change)
        run.lay_out(prompts, [[20]] * 16, torch.zeros(16))
        ids, logps = run.engine(prompts)
        scored = run.scored(prompts, ids)[1]
        rows = zip(logps, scored, strict=True)
        gap = mean(abs(a - b) for row in rows for a, b in zip(*row, strict=True))
        assert least <= gap <= most


def test_trl_measures_the_engine_and_corrects_it():
    trainer = two_engines.grpo_trainer(Engine(), max_steps=1)
    trainer.train()
    log = trainer.state.log_history[0]
    assert log["sampling/sampling_logp_difference/mean"] < 1e-5
    assert log["sampling/importance_sampling_ratio/mean"] == pytest.approx(1, abs=1e-4)
