"""Runs that go on with other weights or other rows, and weights that were never loaded."""

import json
import math

import pytest
from explain_shapes import rows

from course_utils.explain import explain


def answer(*parts: list[dict] | str):
    lines = [part if isinstance(part, str) else "\n".join(map(json.dumps, part)) for part in parts]
    return explain("\n".join(lines) + "\n")


def first(*parts: list[dict] | str):
    return next(iter(answer(*parts).causes), None)


def run(begin: int, *losses: float, rate: float = 2e-5) -> list[dict]:
    return [
        {"step": begin + 10 * n, "loss": loss, "grad_norm": 0.8, "learning_rate": rate}
        for n, loss in enumerate(losses)
    ]


LEARNS = run(10, 3.1, 2.6, 2.2, 1.9, 1.7, 1.6, 1.5, 1.45)
LOADS = "Loading checkpoint out/step_80, the job was resumed"


def test_a_first_loss_above_the_start_behind_a_resume_is_of_weights_that_did_not_come_back():
    one = first(LEARNS, LOADS, run(90, 4.2, 3.8, 3.1, 2.7))
    assert one.key == "resumed_without_state" and "part of the weights" in one.says
    assert "lm_head" in one.fix and "scheduler.pt" not in one.fix
    assert any("4.2" in told for told in one.for_it) and any("3.1" in told for told in one.for_it)


def test_a_tied_head_is_the_first_suspect_where_the_log_speaks_of_it():
    one = first("tie_word_embeddings: true", LEARNS, LOADS, run(90, 4.2, 3.8, 3.1, 2.7))
    assert one.key == "tie_broken" and "head" in one.says


@pytest.mark.parametrize(
    "behind",
    [
        run(90, 1.44, 1.43, 1.41, 1.42),  # it goes on
        run(90, 2.1, 1.9, 1.7, 1.5),  # below the start: an optimizer may do that
        run(90, 4.2, 3.8, 3.1, 2.7, rate=2e-4),  # another rate
    ],
)
def test_another_loss_behind_a_resume_is_not_of_lost_weights(behind):
    told = answer(LEARNS, LOADS, behind)
    assert not any("part of the weights" in one.says for one in told.causes)


LEVEL = run(500, 0.61, 0.6, 0.62, 0.61, 0.6, 0.61)


LOWER = run(550, 0.44, 0.45, 0.44, 0.45, 0.44, 0.61, 0.6, 0.62)


def test_a_loss_that_is_lower_at_once_behind_a_resume_is_of_rows_that_come_again():
    one = first(LEVEL, "resuming from step 550", LOWER)
    assert one.key == "resumed_without_state" and "come again" in one.says
    assert "order" in one.says and any("step 550" in told for told in one.for_it)
    assert any("back at the level" in told for told in one.for_it)


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (LEVEL, run(550, 0.6, 0.61, 0.59, 0.6)),
        (run(500, 0.9, 0.82, 0.74, 0.67, 0.6, 0.53), run(560, 0.46, 0.43, 0.41, 0.4)),  # it learns
        (LEVEL, run(560, 0.44, 0.45, 0.44, 0.45, rate=5e-6)),
    ],
)
def test_a_loss_that_goes_on_or_has_another_reason_is_not(before, behind):
    told = answer(before, "resuming from step 550", behind)
    assert not any("come again" in one.says for one in told.causes)


def test_a_drop_without_a_resume_is_not():
    told = answer(LEVEL, run(560, 0.44, 0.45, 0.44, 0.45))
    assert not any("come again" in one.says for one in told.causes)


def test_rows_that_come_again_are_found_in_a_run_before_the_last():
    again = run(560, 0.44, 0.45, 0.44, 0.45, 0.44)
    one = first(LEVEL, "resume from 550", again, "resume from 300", run(300, 0.65, 0.63, 0.64))
    assert one.key == "resumed_without_state" and "come again" in one.says
    assert not any("has none of it" in told for told in one.for_it)


JUMPS = "The loss jumps when I resume from the checkpoint"


@pytest.mark.parametrize(
    ("said", "is_hinted"),
    [
        (JUMPS, True),
        (f"{JUMPS}, with the correct learning rate.", False),
        (f"{JUMPS}. The optimizer state is restored, I checked.", False),
        (f"{JUMPS}. The optimizer state is not restored, I think.", True),
    ],
)
def test_what_the_writer_rules_out_is_no_hint(said, is_hinted):
    found = answer(said, run(10, 2.0, 1.9)).fits
    assert any(one.key == "resumed_without_state" for one in found) == is_hinted


def bar(loss: float, norm: float, step: int, name: str = "total_loss") -> str:
    rate = 2e-7 * step
    shown = f"{name}: {loss:.2f}, grad_norm: {norm:.2f}, lr: {rate:.2e}"
    return f"Epoch 1/2:   1%|          | {step}/900 [00:{step:02}<9:11, 2.01s/it, {shown}]"


@pytest.mark.parametrize("vocabulary", [128256, 99000])
def test_a_loss_at_a_guess_without_any_gradient_is_of_weights_that_were_never_loaded(vocabulary):
    bars = [bar(math.log(vocabulary), 0.0, step) for step in range(1, 9)]
    one = first("  init_device: meta", *bars)
    assert one.key == "guesses" and "never loaded" in one.says and "meta" in one.says
    assert not any(other.key == "no_gradient" for other in answer(*bars).causes)


@pytest.mark.parametrize(("loss", "norm"), [(11.76, 4.2), (2.3, 0.0), (10.37, 0.3)])
def test_another_loss_or_a_gradient_is_no_empty_model(loss, norm):
    told = answer(*[bar(loss, norm, step) for step in range(1, 9)])
    assert not any("never loaded" in one.says for one in told.causes)


def test_a_run_that_is_pasted_for_reference_is_no_resume():
    bad = [bar(11.76, 0.0, 10 * step) for step in range(1, 9)]
    good = [bar(1.5 - step / 20, 2.0, 10 * step) for step in range(1, 9)]
    told = answer(*bad, "and this is the same with one GPU, for comparison:", *good)
    assert [one.key for one in told.causes] == ["guesses"]


def test_words_about_a_reference_within_a_run_part_nothing():
    log = rows(12, loss=lambda n: 2 - n / 10, grad_norm=1.0)
    told = answer(log[:6], "Loading the reference model for comparison with policy: done", log[6:])
    assert "More than one run" not in str(told)


def test_what_a_run_died_of_is_not_forgotten_for_the_run_that_is_pasted_beside_it():
    lost = [{key: one[key] for key in ("loss", "grad_norm")} for one in LEARNS]
    died = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.10 GiB."
    told = answer(lost, died, "## the good run", lost)
    assert "line 10 says: ## the good run" in told.restart
    assert "cuda_memory" in [one.key for one in told.findings] and told.about == "lines 1 to 8"
