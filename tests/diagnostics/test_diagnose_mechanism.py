"""`diagnose` takes the look that separates two mechanisms of one symptom."""

import copy

import pytest
import torch
from diagnosed_runs import grpo, sft
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import TrainerCallback

from course_utils import zoo
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.judges.signal import judge_signal, judge_silence
from course_utils.diagnostics.diagnosis.measures.held_change import held_change
from course_utils.diagnostics.diagnosis.measures.last_replies import LastReplies
from course_utils.diagnostics.diagnosis.measures.logp_shapes import shape_of
from course_utils.diagnostics.diagnosis.measures.policy_numbers import PolicyNumbers
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.reproductions.lesson_07 import batches


def first(report):
    assert report.causes, str(report)
    return report.causes[0]


def train(source, **parts):
    with diagnose.watching(source, **parts) as run:
        source.train()
    return run.report


# --- the schedule -----------------------------------------------------------------------------


@pytest.mark.parametrize(("ticks", "length", "said"), [(4, 8, "4 times"), (1, 2, "fewer steps")])
def test_a_schedule_that_is_stepped_too_often_is_not_one_that_is_too_short(ticks, length, said):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=length)
    with diagnose.watching(model, optimizer=optimizer) as run:
        for _ in range(8):
            for _ in range(4):
                model(torch.ones(1, 4)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            for _ in range(ticks):
                schedule.step()
    found = first(run.report)
    assert found.key == "schedule_ends_early" and said in found.says
    assert "4 forward passes with a gradient" in " ".join(found.said)
    assert found.specimen[0].startswith("learning rate by step: 0.001")


def test_the_schedules_of_another_model_are_not_counted():
    model, other = nn.Linear(4, 2), nn.Linear(4, 2)
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (model, other)]
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizers[1])
    run = diagnose.watching(model)
    with run:
        for _ in range(2):
            model(torch.ones(1, 4)).sum().backward()
            optimizers[0].step()
            optimizers[1].step()
            schedule.step()
    assert run._pace.ticks == 0 and run._pace.passes == 2


# --- what a resumed run has of its checkpoint -------------------------------------------------


class StopAt2(TrainerCallback):
    def on_step_end(self, args, state, control, **more):
        if state.global_step == 2:
            control.should_save = control.should_training_stop = True


def resumed(tmp_path, **settings):
    """The report on steps 3 to 6 of a run that stopped after two, within its only epoch."""
    known = dict(max_steps=6, per_device_train_batch_size=4)
    before, after = (sft(**known | settings) for _ in range(2))
    before.args.output_dir = str(tmp_path)
    before.add_callback(StopAt2())
    before.train()
    with diagnose.watching(after) as run:
        after.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    return run.report


def test_a_run_that_goes_on_where_it_stopped_is_healthy(tmp_path):
    report = resumed(tmp_path)
    assert report.is_healthy, str(report)
    assert "before step 3: 50 tensors" in report.checked["resumed optimizer"]


def test_a_run_that_goes_on_with_an_empty_optimizer(tmp_path):
    report = resumed(tmp_path, save_only_model=True)
    found = first(report)
    assert found.key == "resumed_without_state" and "at step 3 with an empty" in found.says
    assert "before step 3: 0 tensors; after it: 50" in found.said[0]


def test_a_run_that_reads_its_first_rows_again(tmp_path):
    report = resumed(tmp_path, ignore_data_skip=True)
    found = first(report)
    assert found.place == "ignore_data_skip" and "the first 8 rows are read twice" in found.says


# --- groups without a signal ------------------------------------------------------------------


def behind_a_tag(completions, answer, **_columns):
    said = [c[0]["content"] for c in completions]
    pairs = zip(said, answer, strict=True)
    return [float("</think>" in s and s.split("</think>")[-1].strip() == a) for s, a in pairs]


def never_scored(completions, **_columns):
    return [None for _ in completions]


def of_the_prompt(completions, answer, **_columns):
    return [float(int(a) % 8) for a in answer]


def full(completions, **_columns):
    return [1.0 for _ in completions]


MECHANISMS = {
    "a form": (behind_a_tag, {}, "1 for the answer behind </think>"),
    "no score": (never_scored, {}, "no score (None) for every text"),
    "the prompt": (of_the_prompt, {}, "gives every text of a row the same"),
    "one price": (full, {"temperature": 1e-3}, "gives 1 for every text"),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_groups_without_a_signal_say_why(name):
    reward, settings, said = MECHANISMS[name]
    found = first(diagnose(grpo(reward, **settings), steps=2, probe_rewards=True))
    assert found.key == "no_signal" and said in found.says, found.says
    assert found.specimen, found


def test_replies_without_a_score_are_not_said_to_earn_0():
    found = first(diagnose(grpo(never_scored), steps=2))
    assert "returns None for every reply" in found.says and "earns" not in str(found.specimen)


def test_cold_sampling_gives_one_text_a_group():
    report = diagnose(grpo(temperature=1e-3), steps=2)
    assert "one and the same text" in first(report).says, str(report)


def substring(completions, answer, **_columns):
    return [float(c[0]["content"] in a) for c, a in zip(completions, answer, strict=True)]


def test_a_reward_for_silence_counts_its_rows_and_shows_one():
    found = first(diagnose(grpo(substring), probe_rewards=True))
    assert found.key == "reward_pays_junk" and "pays for an empty reply" in found.says
    assert "in 4 of 4 rows" in found.said[0]
    assert any("an empty reply: 1" in line for line in found.specimen)


# --- what is served ---------------------------------------------------------------------------


def adapted():
    model = zoo.load_policy("tiny", device="cpu")
    lora = LoraConfig(r=4, target_modules=["q_proj"], init_lora_weights=False)
    return get_peft_model(model, lora)


def test_the_share_of_an_adapter_that_is_served():
    model = adapted()
    base = zoo.load_policy("tiny", device="cpu")
    merged = copy.deepcopy(model).merge_and_unload()
    assert held_change(model, base).is_base
    assert held_change(model, merged).share == pytest.approx(1, abs=1e-3)
    assert not held_change(model, merged).is_base
    with torch.no_grad():
        for name, weight in merged.named_parameters():
            weight += weight - base.get_parameter(name)
    twice = held_change(model, merged)
    assert twice.share == pytest.approx(2, abs=1e-3) and twice.rest < 0.01
    assert held_change(base, merged) is None


def test_an_adapter_that_is_not_served_is_told_from_one_that_is_served_twice():
    model, (batch, _) = adapted(), batches.replies_learnt(0)
    base = zoo.load_policy("tiny", device="cpu")
    found = first(diagnose(model, batch=batch, served=base))
    assert found.key == "adapter_not_loaded" and "holds 0.00 of" in found.said[0]
    assert found.verdict.where == "serving"
    twice = copy.deepcopy(model).merge_and_unload()
    with torch.no_grad():
        for name, weight in twice.named_parameters():
            weight += weight - base.get_parameter(name)
    found = first(diagnose(model, batch=batch, served=twice))
    assert found.key == "merged_not_equal" and "2.00 times" in found.says


# --- rows -------------------------------------------------------------------------------------


def test_packed_documents_are_weighed_alone_and_in_their_row():
    said = dict(packing=True, packing_strategy="wrapped", max_length=128)
    found = first(diagnose(sft(**said)))
    assert found.key == "packing_leak" and "alone" in " ".join(found.said), found


def test_a_start_that_is_also_the_pad_is_no_padding():
    batch, tokenizer = batches.prompts(0)
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.bos_token = tokenizer.pad_token
    pad = torch.full((len(batch["input_ids"]), 2), tokenizer.pad_token_id)
    ids = torch.cat([pad, batch["input_ids"]], 1)
    report = diagnose(
        zoo.load_policy("tiny", device="cpu"),
        batch={"input_ids": ids[:1, -8:], "attention_mask": torch.ones(1, 8)},
        tokenizer=tokenizer,
    )
    assert "padding_attended" not in [one.key for one in report.causes]


# --- a loop's settings and log ----------------------------------------------------------------


def loop(log=(), **settings):
    return diagnose(nn.Linear(2, 1), log=list(log), settings=settings)


def test_a_coefficient_that_no_one_reads():
    found = first(
        loop(actor={"use_kl_loss": False, "kl_loss_coef": 5.0}, kl_ctrl={"kl_coef": 1e-3})
    )
    assert found.key == "kl_without_effect" and found.place == "use_kl_loss"
    assert not loop(use_kl_loss=True, kl_loss_coef=5.0).causes
    assert not loop(use_kl_loss=False, kl_loss_coef=1e-3, kl_coef=1e-3).causes


def rows(**columns):
    count = 12
    return [{"step": n} | {k: v(n) for k, v in columns.items()} for n in range(count)]


def test_entropy_that_grows_while_the_reward_falls():
    paid = rows(**{"actor/entropy": lambda n: 1 + n / 4, "reward": lambda n: 0.8 - n / 20})
    found = first(loop(paid, entropy_coeff=0.5))
    assert found.key == "collapse" and found.fix == "entropy_coeff=0.5 -> 0"
    rising = rows(**{"actor/entropy": lambda n: 1 + n / 4, "reward": lambda n: 0.2 + n / 20})
    assert not loop(rising, entropy_coeff=0.5).causes


def test_replies_that_grow_and_earn_no_more():
    grows = {"response_length/mean": lambda n: 10 + 2 * n}
    still = rows(**grows | {"critic/score/mean": lambda n: 0.5 + 0.01 * (-1) ** n})
    assert first(loop(still)).key == "length_is_paid"
    rising = rows(**grows | {"critic/score/mean": lambda n: 0.2 + n / 20})
    assert not loop(rising).causes


# --- log-probs that disagree ------------------------------------------------------------------

SCORED = -torch.rand(8, 6, generator=torch.Generator().manual_seed(0)) * 3
ALL = torch.ones(8, 6)


def shape(sampler, **known):
    return shape_of(SCORED, sampler, ALL, raw=known.get("raw"), temperature=0.6)[0]


def test_log_probs_that_disagree_have_a_shape():
    raw = SCORED * 0.6
    assert "not divided by the temperature (0.6)" in shape(raw, raw=raw)
    assert "one place beside" in shape(SCORED.roll(1, 1))
    assert "cuts its distribution off" in shape(SCORED + 0.2 * (SCORED < -1))
    assert shape(SCORED + torch.linspace(-1, 1, 48).view(8, 6)) == ""


def test_sure_tokens_of_a_nucleus_are_not_taken_for_tokens_one_place_beside():
    sure = SCORED / 100
    cut_off = sure + 0.07 * (SCORED < -2.5)
    said = shape_of(sure, cut_off, ALL, raw=None, temperature=1.0)[0]
    assert "cuts its distribution off" in said and "0% less likely" in said


# --- silence ----------------------------------------------------------------------------------


def short(completions, **_columns):
    return [-float(len(c[0]["content"])) for c in completions]


def right(completions, answer, **_columns):
    return [float(c[0]["content"] == a) for c, a in zip(completions, answer, strict=True)]


def test_parts_that_are_sound_alone_and_pay_silence_together():
    found = first(diagnose(grpo([right, short], reward_weights=[1.0, 0.5]), probe_rewards=True))
    assert found.key == "reward_pays_junk" and "more for silence" in found.says
    assert "short (weight 0.5): 0 and -" in " ".join(found.said)
    sound = grpo([right, short], reward_weights=[1.0, 0.05])
    assert not diagnose(sound, probe_rewards=True).causes


@pytest.mark.parametrize(("rises", "key"), [(1, "reward_pays_junk"), (-1, "collapse")])
def test_a_policy_that_falls_silent_is_paid_for_it_or_has_collapsed(rises, key):
    empty = (0.2, 0.2, 0.4, 0.6, 0.9, 0.9)
    numbers = [PolicyNumbers(8, share_empty=share, reward=rises * share) for share in empty]
    sheet = Sheet()
    judge_silence(numbers, None, sheet)
    assert [one.key for one in sheet.found] == [key]
    sheet = Sheet()
    judge_silence(numbers[::-1], None, sheet)
    assert not sheet.found and "empty replies" in sheet.shown


def test_prompts_that_are_solved_from_the_start_are_not_those_that_become_so():
    said = LastReplies("2+2=", ["4"] * 8, [1.0] * 8, 8, 1.0, 5)
    for dead, earned, keys in (
        ((0.8, 0.7, 0.9), (0.97, 0.98, 0.99), ["no_signal"]),
        ((0.1, 0.8, 0.9), (0.4, 0.9, 0.99), []),  # what training is for
        ((0.8, 0.7, 0.9), (0.1, 0.1, 0.1), []),
    ):
        pairs = zip(dead, earned, strict=True)
        numbers = [PolicyNumbers(8, share_no_signal=d, reward=r) for d, r in pairs]
        sheet = Sheet()
        judge_signal(numbers, said, sheet)
        assert [one.key for one in sheet.found] == keys
