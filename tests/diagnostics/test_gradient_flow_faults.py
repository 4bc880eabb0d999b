"""Runs that train nothing, or too little, without raising an error. About 5 s."""

import peft
import pytest
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

from course_utils.diagnostics import audit_gradients
from course_utils.diagnostics.gradient_flow import Cause, Flow
from course_utils.errors import BadRequest
from course_utils.shown.wrap import wrapped

IDS = torch.arange(1, 13).view(2, 6)
TEXT = {"input_ids": IDS, "labels": IDS}


def llama(**settings):
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "vocab_size": 32}
    return LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=2, **settings))


def with_lora(model, **settings):
    config = peft.LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj"], **settings)
    return peft.get_peft_model(model, config)


def ends_with_advice(flow):
    """Every report with something to say ends with what the cause is, and what to do."""
    return flow.text().endswith(wrapped(f"cause: {flow.cause}\nfix: {flow.fix}"))


class Quantised(nn.Module):
    """Rounds its activations, with or without a straight-through estimator."""

    def __init__(self, *, straight_through, by=torch.round):
        super().__init__()
        self.below, self.above = nn.Linear(4, 4), nn.Linear(4, 1)
        self.straight_through, self.by = straight_through, by

    def forward(self, x):
        y = self.below(x) * 3
        rounded = self.by(y)
        return self.above(y + (rounded - y).detach() if self.straight_through else rounded).sum()


@pytest.mark.parametrize("by", [torch.round, torch.sign, torch.floor])
def test_a_missing_straight_through_estimator_is_no_healthy_flow(by):
    torch.manual_seed(0)
    x = torch.randn(8, 4)
    sick, healthy = (Quantised(straight_through=on, by=by) for on in (False, True))
    flow = audit_gradients(sick, x, loss_of=sick)
    assert not flow.is_healthy and flow.stuck == ["below.weight", "below.bias"]
    assert f"{by.__name__}() in the model itself is 0 everywhere" in flow.cause
    assert "straight-through" in flow.fix and ends_with_advice(flow)
    assert audit_gradients(healthy, x, loss_of=healthy).is_healthy


def test_what_lies_below_a_head_of_zeros_is_only_waiting_for_its_first_step():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    nn.init.zeros_(model[1].weight)
    before = [p.detach().clone() for p in model.parameters()]
    flow = audit_gradients(model, torch.randn(3, 4), loss_of=lambda x: model(x).sum())
    assert flow.is_healthy and flow.count(Flow.STARTING) == 2
    assert all(p.equal(kept) for p, kept in zip(model.parameters(), before, strict=True))


def test_an_adapter_whose_partner_is_frozen_at_zero_never_trains():
    model = with_lora(llama())
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.requires_grad_(False)
    flow = audit_gradients(model, TEXT)
    assert not flow.is_healthy and len(flow.stuck) == 2 and "lora_A" in flow.stuck[0]


def test_adalora_whose_two_factors_wait_for_a_third_is_healthy():
    config = peft.AdaLoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj"], total_step=10)
    model = peft.get_peft_model(llama(), config)
    for name, parameter in model.named_parameters():
        if "lora_E" in name:
            nn.init.zeros_(parameter)
    flow = audit_gradients(model, TEXT)
    assert flow.is_healthy and flow.stuck == []


def test_gradients_that_are_all_nan_are_not_healthy():
    model = llama()
    flow = audit_gradients(model, TEXT, loss_of=lambda b: model(**b).loss * float("nan"))
    assert not flow.is_healthy and flow.count(Flow.NOT_FINITE) == len(flow.parameters)
    assert "Every gradient holds nan or inf" in flow.headline and "trace_step" in flow.fix


@pytest.mark.parametrize(
    ("rewrap", "cause"),
    [
        (lambda loss: torch.tensor(loss.item(), requires_grad=True), Cause.ESCAPE),
        (lambda loss: torch.tensor(loss, requires_grad=True), Cause.ESCAPE),
        (lambda loss: torch.as_tensor(float(loss)).requires_grad_(), Cause.ESCAPE),
        (lambda loss: loss.detach().requires_grad_(), Cause.DETACH),
        (lambda loss: torch.autograd.Variable(loss.data, requires_grad=True), Cause.DETACH),
    ],
    ids=["item", "tensor", "float", "detach", "Variable"],
)
@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")
def test_a_loss_made_anew_is_cut_where_it_was_made(rewrap, cause):
    model = llama()
    flow = audit_gradients(model, TEXT, loss_of=lambda b: rewrap(model(**b).loss))
    assert not flow.is_healthy and [cut.cause for cut in flow.cuts] == [cause]
    assert "graph is whole" not in flow.headline and "no error says so" in flow.headline
    assert ends_with_advice(flow) and "test_gradient_flow_faults.py" in flow.cause


def test_a_loss_of_another_model_depends_on_nothing_that_trains():
    ours, other = llama(), llama()
    flow = audit_gradients(ours, TEXT, loss_of=lambda b: other(**b).loss)
    assert not flow.is_healthy and "depends on no trainable parameter" in flow.headline
    assert "calls the model that is trained" in flow.fix


def test_a_flat_loss_is_told_from_a_cut_graph():
    """GRPO whose rewards are all equal: every advantage is 0."""
    model = llama()
    flow = audit_gradients(model, TEXT, loss_of=lambda b: model(**b).logits.mean() * 0.0)
    assert not flow.is_healthy and "every gradient that arrives is exactly 0" in flow.headline
    assert "advantage" in flow.cause


def test_an_adapter_loaded_for_inference_gets_the_argument_that_was_forgotten(tmp_path):
    with_lora(llama()).save_pretrained(tmp_path)
    flow = audit_gradients(peft.PeftModel.from_pretrained(llama(), tmp_path), TEXT)
    assert flow.fix == "PeftModel.from_pretrained(model, path, is_trainable=True)"
    assert "get_peft_model" in audit_gradients(llama().requires_grad_(False), TEXT).fix


@pytest.mark.parametrize("share", ["none", "half"])
def test_an_optimizer_that_lacks_what_trains_is_named(share):
    model, other = llama(), llama()
    own = list(model.parameters())
    held = list(other.parameters()) if share == "none" else own[: len(own) // 2]
    flow = audit_gradients(model, TEXT, optimizer=torch.optim.AdamW(held))
    assert not flow.is_healthy and "is not in it" in flow.cause
    assert ("the optimizer holds none of" in flow.headline) is (share == "none")
    whole = audit_gradients(model, TEXT, optimizer=torch.optim.AdamW(own))
    assert whole.is_healthy and "not looked at" not in whole.text()


def test_a_trainers_optimizer_is_found_and_one_that_was_not_seen_is_not_vouched_for(tmp_path):
    other = torch.optim.AdamW(llama().parameters())
    args = TrainingArguments(tmp_path, report_to="none", use_cpu=True)
    trainer = Trainer(llama(), args, train_dataset=[{"input_ids": IDS[0]}])
    assert "not looked at: what the optimizer holds" in audit_gradients(trainer, TEXT).text()
    trainer.optimizer = other
    assert "the optimizer holds none of" in audit_gradients(trainer, TEXT).headline
    with pytest.raises(BadRequest, match="optimizer= is a list"):
        audit_gradients(llama(), TEXT, optimizer=[1])
