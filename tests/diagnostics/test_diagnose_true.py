"""What a report says of a run is true: sentences that a blind round found to be false."""

import math

import pytest
import torch
from datasets import Dataset
from diagnosed_runs import ON_CPU, dpo, grpo, sft
from peft import LoraConfig, get_peft_model
from torch import nn
from trl import KTOConfig, KTOTrainer

from course_utils import zoo
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.judges.signal import judge_signal
from course_utils.diagnostics.diagnosis.measures.policy_numbers import PolicyNumbers, policy_numbers
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.zoo import training

UNHEARD_OF = 1  # an id that the policy never writes


def kto(label=lambda n: n % 2 == 0, **settings) -> KTOTrainer:
    pairs = zoo.arithmetic.preferences(16, 0, rejected="guess")
    rows = [
        {
            "prompt": row["prompt"],
            "completion": row[side],
            "label": label(2 * n + (side != "chosen")),
        }
        for n, row in enumerate(pairs)
        for side in ("chosen", "rejected")
    ]
    return KTOTrainer(
        model=zoo.load_policy("tiny", device="cpu"),
        args=KTOConfig(**training.quiet_config(), **ON_CPU | settings),
        processing_class=zoo.load_tokenizer("tiny"),
        train_dataset=Dataset.from_list(rows),
    )


@pytest.mark.parametrize(("make", "neutral"), [(dpo, "0.693"), (kto, "0.5")])
def test_the_first_loss_of_a_preference_stands_beside_its_own_neutral_value(make, neutral):
    report = diagnose(make(), steps=2)
    assert "guessing" not in report.first_loss
    assert f"{neutral} is that of a policy which is its reference" in report.first_loss


def test_a_sum_of_losses_has_no_neutral_value_and_no_look_raises():
    report = diagnose(dpo(loss_type=["sigmoid", "sft"]), steps=2)
    assert "policy which is its reference" not in report.first_loss
    assert "raised" not in str(report.to_dict())


@pytest.mark.parametrize("make", [dpo, kto])
def test_a_rejected_reply_is_not_said_to_be_learnt(make):
    chosen, rejected = (line for line in diagnose(make()).rows if not line.startswith("Row"))
    assert "learns" in chosen and "is pushed away from" in rejected


def scaled_loop(unscales: bool):
    """A loop with a gradient scaler that clips before or after the scale is taken out."""
    torch.manual_seed(0)
    model, log = nn.Linear(8, 8), []
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cpu")
    with diagnose.watching(model, optimizer=optimizer, log=log) as run:
        for _ in range(6):
            optimizer.zero_grad()
            loss = (model(torch.randn(4, 8)) - 1).square().mean()
            scaler.scale(loss).backward()
            if unscales:
                scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            scaler.step(optimizer)
            scaler.update()
            log.append({"loss": loss.item(), "grad_norm": norm.item()})
    return run.report


@pytest.mark.parametrize("unscales", [True, False])
def test_clipping_before_the_scale_is_taken_out_is_a_fault(unscales):
    report = scaled_loop(unscales)
    assert [one.key for one in report.causes] == ["clipped_while_scaled"] * (not unscales)
    assert ("gradients" in report.checked) == unscales
    assert unscales or "65536" in report.causes[0].said[0]


def test_an_adapter_that_is_still_zero_is_no_proof_of_a_merge():
    model = get_peft_model(
        zoo.load_policy("tiny", device="cpu"), LoraConfig(target_modules=["q_proj"])
    )
    trainer = sft(model)
    assert "still zero" in diagnose(trainer).unseen["merged model"]
    assert "merged model" in diagnose(trainer, steps=2).checked


def test_an_optimizer_of_frozen_tensors_holds_the_models_own():
    model = zoo.load_policy("tiny", device="cpu")
    held = torch.optim.AdamW(model.parameters())
    trainer = sft(get_peft_model(model, LoraConfig(target_modules=["q_proj"])))
    trainer.optimizer = held
    found = diagnose(trainer, steps=2).causes[0]
    assert found.key == "optimizer_holds_others"
    assert "2 steps of AdamW were on the model's frozen tensors" in found.said


def test_an_exception_in_a_look_has_ended_no_run():
    trainer = sft()

    def broken(*_args, **_kwargs):
        raise TypeError("'NoneType' object is not subscriptable")

    trainer.compute_loss = broken
    report = diagnose(trainer)
    text = f"{report}{report.details}{report.to_dict()}"
    assert "not subscriptable" in report.causes[0].says and "ended the run" not in text


# --- replies ------------------------------------------------------------------------------------


def never_ending():
    """A policy whose replies are all cut, so that the loss leaves all of them out."""
    trainer = grpo(max_completion_length=4, mask_truncated_completions=True)
    trainer.eos_token_ids = [UNHEARD_OF]
    trainer.generation_config.eos_token_id = UNHEARD_OF
    return trainer


def test_replies_that_the_loss_leaves_out_are_read_and_not_called_empty():
    report = diagnose(never_ending(), steps=3)
    assert all("x ''" not in line for line in report.rows)
    assert report.shown.get("empty replies", "0%, 0% in the last").count("100%") == 0


def test_groups_whose_replies_are_all_masked_have_no_signal_to_boast_of():
    report = diagnose(never_ending(), steps=3)
    assert [one.key for one in report.causes] == ["ends_unseen"]
    assert not {"groups with a signal", "advantages"} & report.checked.keys()


@pytest.mark.parametrize("masked", [0.5, 1.0])
def test_replies_of_which_none_is_in_the_loss_are_a_cause_of_their_own(masked):
    sheet = Sheet()
    judge_signal([PolicyNumbers(8, share_masked=masked, share_no_signal=0.0)] * 3, None, sheet)
    assert ["replies_masked"] * (masked == 1) == [one.key for one in sheet.found]
    assert ("groups with a signal" in sheet.cleared) == (masked < 1)


def test_a_masked_reply_has_the_length_of_what_it_says():
    said, mask = torch.tensor([[1, 1, 1], [1, 0, 0]]), torch.tensor([[0, 0, 0], [1, 0, 0]])
    ended = torch.tensor([False, True])
    found = policy_numbers(mask=mask, said=said, ended=ended, advantages=torch.ones(2))
    assert (found.length, found.share_empty, found.share_masked) == (2.0, 0.5, 0.5)
    assert math.isclose(found.share_truncated, 0.5)
