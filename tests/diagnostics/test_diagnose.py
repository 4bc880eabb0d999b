"""`diagnose` names the cause of a broken run first, with its numbers; its audits work alone."""

import copy

import pytest
import torch
from diagnosed_runs import dpo, grpo, sft, without_ends
from peft import LoraConfig, get_peft_model

from course_utils import zoo
from course_utils.diagnostics import audit_policy, audit_step, compare_models, diagnose
from course_utils.diagnostics.diagnosis.report.ranking import in_order
from course_utils.diagnostics.diagnosis.sheet.finding import Found
from course_utils.errors import BadRequest
from course_utils.reproductions.lesson_07 import batches


def broken_weight():
    model = zoo.load_policy("tiny", device="cpu")
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight[3, 0] = torch.nan
    return sft(model=model)


def frozen():
    return sft(model=zoo.load_policy("tiny", device="cpu").requires_grad_(False))


def rounded_away():
    model = zoo.load_policy("tiny", device="cpu", dtype="bfloat16")
    return sft(model=model, learning_rate=1e-7)


def reference_is_the_policy():
    trainer = dpo()
    trainer.ref_model = trainer.model
    return trainer


def another_reference():
    trainer = dpo()
    with torch.no_grad():
        for weight in trainer.ref_model.parameters():
            weight.mul_(1.5)
    return trainer


def substring(completions, answer, **_columns):
    return [float(a in c[0]["content"]) for c, a in zip(completions, answer, strict=True)]


def never_warm():
    return sft(warmup_steps=50, learning_rate=1e-4)


LOOKS = {
    "loaded_broken_weight": (broken_weight, "model.layers.1.mlp.up_proj.weight"),
    "nothing_trainable": (frozen, "0 of 50 tensors"),
    "end_missing": (lambda: sft(rows=without_ends()), "have no end"),
    "rounding_swallows": (rounded_away, "bfloat16"),
    "reference_moves": (reference_is_the_policy, "ref_model"),
    "wrong_reference": (another_reference, "before the first step"),
    "reward_pays_junk": (lambda: grpo(substring), "list of all numbers"),
    "schedule_ends_early": (never_warm, "50 steps of warm-up in a run of 3"),
    "logp_disagree": (lambda: grpo(top_p=0.5), "top_p 0.5"),
    "rate_zero": (lambda: sft(learning_rate=0.0), "learning_rate"),
}


@pytest.mark.parametrize("key", LOOKS)
def test_a_look_names_the_cause_first_with_its_numbers(key):
    make, said = LOOKS[key]
    report = diagnose(make(), probe_rewards=True)
    assert report.causes and report.causes[0].key == key, str(report)
    assert said in " ".join(str(report).split()) or said in report.headline
    assert report.fix and not report.is_healthy
    assert report.to_dict()["causes"][0]["key"] == key


def constant(completions, **_columns):
    return [1.0 for _ in completions]


RIDES = {
    "no_signal": lambda: grpo(constant),
    "update_too_large": lambda: grpo(learning_rate=0.2),
    "rate_zero": lambda: sft(learning_rate=0.0),
}


@pytest.mark.parametrize("key", RIDES)
def test_steps_show_what_a_look_cannot(key):
    report = diagnose(RIDES[key](), steps=3)
    assert report.causes[0].key == key, str(report)


def test_a_loop_of_ones_own_whose_optimizer_holds_another_model():
    model, other = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)
    optimizer, log = torch.optim.SGD(other.parameters(), lr=0.1), []
    with diagnose.watching(model, optimizer=optimizer, log=log) as run:
        for step in range(3):
            loss = model(torch.ones(1, 4)).sum()
            loss.backward()
            optimizer.step()
            log.append({"step": step, "loss": loss.item()})
    assert run.report.causes[0].key == "optimizer_holds_others"
    assert "0 of 2 trainable tensors" in run.report.headline


def test_a_sampler_that_keeps_old_weights_is_named_with_its_numbers():
    model = torch.nn.Linear(4, 2)
    sampler = copy.deepcopy(model)
    for is_copied in (False, True):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with diagnose.watching(model, optimizer=optimizer, sampler=sampler) as run:
            for _ in range(3):
                sampler.load_state_dict(model.state_dict()) if is_copied else None
                optimizer.zero_grad()
                model(torch.randn(2, 4)).square().sum().backward()
                optimizer.step()
        keys = [one.key for one in run.report.causes]
        assert ("stale_sampler" in keys) is not is_copied, str(run.report)


def test_a_batch_whose_padding_is_not_masked_gives_other_rows():
    model = zoo.load_policy("tiny", device="cpu")
    batch, tokenizer = batches.prompts(0)
    assert not diagnose(model, batch=batch, tokenizer=tokenizer).causes
    blind = {"input_ids": batch["input_ids"]}
    found = {one.key for one in diagnose(model, batch=blind, tokenizer=tokenizer).causes}
    assert found & {"row_depends_on_batch", "padding_attended"}


def test_a_loss_that_averages_rows_instead_of_tokens_is_told_by_its_gradient():
    model = zoo.load_policy("tiny", device="cpu")
    batch, _ = batches.whole_chats(0)

    def over_rows(model, batch):
        parts = [{k: v[i : i + 1] for k, v in batch.items()} for i in range(4)]
        return sum(model(**part).loss for part in parts) / 4

    assert not diagnose(model, batch=batch, loss=lambda m, b: m(**b).loss).causes
    for row in batch["labels"][:3]:  # rows of very different length
        row[row != -100] = row[row != -100].where(torch.arange(int((row != -100).sum())) > 9, -100)
    found = diagnose(model, batch=batch, loss=over_rows)
    assert found.causes[0].key == "split_changes_loss", str(found)
    batch["labels"][0] = -100
    found = diagnose(model, batch=batch, loss=over_rows)
    assert found.causes[0].key == "labels_masked" and "row 0 of the batch" in found.cause


def test_an_answer_explains_its_symptoms_and_the_order_says_why():
    found = [
        Found("no_gradient", 5.0, ("grad_norm 0",)),
        Found("nothing_trainable", 10.0, ("0 of 4 tensors",)),
        Found("rate_unusual", 4.0, ("learning_rate 0.5",)),
    ]
    order = in_order(found)
    assert [one.key for one in order] == ["nothing_trainable", "rate_unusual"]
    assert any("grad_norm 0" in said for said in order[0].said)


# --- audits ----------------------------------------------------------------------------------


def test_audit_step_counts_one_step_and_puts_it_back():
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    before = model.weight.detach().clone()
    audit = audit_step(model, torch.randn(8, 64), optimizer, loss=lambda m, x: m(x).square().mean())
    assert audit.is_healthy and audit.numbers["share_moved"] == 1.0
    assert torch.equal(before, model.weight) and not optimizer.state
    frozen = torch.optim.SGD(model.parameters(), lr=0.0)
    audit = audit_step(model, torch.randn(8, 64), frozen, loss=lambda m, x: m(x).square().mean())
    assert audit.causes[0].key == "rate_zero" and audit.numbers["share_moved"] == 0
    with pytest.raises(BadRequest, match="takes no step"):
        audit_step(model)


def test_audit_policy_reads_a_trainer_and_a_pair():
    audit = audit_policy(grpo())
    assert audit.is_healthy and audit.numbers["num_replies"] == 16, str(audit)
    assert audit.numbers["advantage_max"] < 8**0.5
    mask = torch.ones(8, 5)
    logps = -torch.rand(8, 5, generator=torch.Generator().manual_seed(0))
    agree = audit_policy(mask=mask, logps=logps, sampler_logps=logps + 1e-6, group=4)
    assert agree.is_healthy and agree.numbers["ratio"] == pytest.approx(1, abs=1e-4)
    apart = audit_policy(mask=mask, logps=logps, sampler_logps=logps * 1.4, group=4)
    assert apart.causes[0].key == "logp_disagree"
    assert apart.numbers["logp_difference"] > 0.1


def test_compare_models_names_the_first_layer_and_tells_rounding_from_another_weight():
    model = zoo.load_policy("tiny", device="cpu")
    batch, _ = batches.replies_learnt(0)
    assert compare_models(model, copy.deepcopy(model), batch).is_same
    rounded = copy.deepcopy(model).bfloat16()
    found = compare_models(model, rounded)
    assert found.is_same and found.weights and all(one.is_rounding for one in found.weights)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.model.layers[2].self_attn.q_proj.weight[0] += 1
    found = compare_models(model, other, batch)
    assert found.layer.name == "model.layers.2.self_attn.q_proj"
    assert [one.name for one in found.others] == ["model.layers.2.self_attn.q_proj.weight"]


def test_a_merged_adapter_is_the_same_and_a_lost_one_is_not():
    base = zoo.load_policy("tiny", device="cpu")
    lora = LoraConfig(r=4, target_modules=["q_proj"], init_lora_weights=False)
    model = get_peft_model(copy.deepcopy(base), lora)
    batch, _ = batches.replies_learnt(0)
    merged = copy.deepcopy(model).merge_and_unload()
    assert compare_models(model, merged, batch).is_same
    lost = compare_models(model, base, batch)
    assert not lost.is_same and "q_proj" in lost.place
