"""Cut graphs are found where they are cut, and healthy ones raise no alarm. About 10 s."""

import copy

import peft
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers import (
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2ForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from course_utils.diagnostics import audit_gradients
from course_utils.diagnostics.gradient_flow import Cause, Flow
from course_utils.errors import BadRequest

pytestmark = [
    # The very failure: torch warns where the graph is cut, and the audit has to say more.
    pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad"),
    # peft 0.21 asks transformers 5.23 for the old names.
    pytest.mark.filterwarnings("ignore:`.*gradient_checkpointing.*` is deprecated:FutureWarning"),
]

NUM_LAYERS, NUM_LORA = 2, 8  # two factors for q and v in each layer
LAYERS = tuple(f"base_model.model.model.layers.{n}" for n in range(NUM_LAYERS))
IDS = torch.arange(1, 13).view(2, 6)
TEXT = {"input_ids": IDS, "labels": IDS}
SCORED = {"input_ids": IDS, "labels": torch.zeros(2, 1)}


def qwen2(kind=Qwen2ForCausalLM):
    torch.manual_seed(0)
    sizes = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 32, "pad_token_id": 0}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    config = Qwen2Config(**sizes, **heads, num_hidden_layers=NUM_LAYERS, num_labels=1)
    config.use_cache = False
    return kind(config)


def with_lora(model, task="CAUSAL_LM", **settings):
    config = peft.LoraConfig(task_type=task, target_modules=["q_proj", "v_proj"], **settings)
    return peft.get_peft_model(model, config)


def checkpointed(model, *, use_reentrant, hook=False):
    """Checkpointing as it was when people met the error: without the input-grad hook."""
    base = model.get_base_model()
    base.activation_checkpointing_enable({"use_reentrant": use_reentrant})
    base.enable_input_require_grads() if hook else base.disable_input_require_grads()
    return model


def test_reentrant_checkpointing_of_frozen_embeddings_is_the_loud_case():
    flow = audit_gradients(checkpointed(with_lora(qwen2()), use_reentrant=True), TEXT)
    (cut,) = flow.cuts
    assert (cut.cause, cut.modules, cut.num_parameters) == (Cause.CHECKPOINT, LAYERS, NUM_LORA)
    assert not flow.loss_has_graph and not flow.is_healthy
    assert "layers.0 and 1 more" in flow.headline and "no grad_fn" in flow.headline


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        (lambda: with_lora(qwen2(Qwen2ForSequenceClassification), "SEQ_CLS"), SCORED),
        (lambda: with_lora(qwen2(), modules_to_save=["lm_head"]), TEXT),
    ],
    ids=["score head", "lm_head in modules_to_save"],
)
def test_a_trained_head_that_silences_the_error_does_not_hide_the_cut(model, batch):
    flow = audit_gradients(checkpointed(model(), use_reentrant=True), batch)
    assert (flow.count(Flow.CUT), flow.count(Flow.RECEIVED)) == (NUM_LORA, 1)
    assert flow.loss_has_graph and not flow.is_healthy
    assert [(c.cause, c.modules) for c in flow.cuts] == [(Cause.CHECKPOINT, LAYERS)]
    assert "no error says so" in flow.headline


@pytest.mark.parametrize(
    "settings",
    [{"use_reentrant": True, "hook": True}, {"use_reentrant": False}],
    ids=["reentrant with hook", "non-reentrant"],
)
def test_healthy_checkpointing_is_no_cut_and_lora_a_waits_for_b(settings):
    flow = audit_gradients(checkpointed(with_lora(qwen2()), **settings), TEXT)
    assert flow.is_healthy and flow.cuts == ()
    assert flow.count(Flow.RECEIVED) == flow.count(Flow.WAITING) == NUM_LORA // 2
    assert {p.name.split(".")[-3] for p in flow.parameters if p.flow is Flow.WAITING} == {"lora_A"}


def test_every_lora_matrix_receives_once_b_has_moved():
    model = with_lora(qwen2(), init_lora_weights=False)
    flow = audit_gradients(model, TEXT)
    assert flow.is_healthy and flow.count(Flow.RECEIVED) == NUM_LORA


@pytest.mark.parametrize("use_reentrant", [None, True, False])
def test_full_fine_tuning_is_healthy_with_and_without_checkpointing(use_reentrant):
    model = qwen2()
    if use_reentrant is not None:
        model.activation_checkpointing_enable({"use_reentrant": use_reentrant})
        model.disable_input_require_grads()
    flow = audit_gradients(model, TEXT)
    assert flow.is_healthy and flow.count(Flow.RECEIVED) == len(list(model.parameters()))


def test_a_frozen_model_and_an_adapter_loaded_for_inference_are_told_apart(tmp_path):
    with_lora(qwen2()).save_pretrained(tmp_path)
    adapter = audit_gradients(peft.PeftModel.from_pretrained(qwen2(), tmp_path), TEXT)
    frozen = audit_gradients(qwen2().requires_grad_(False), TEXT)
    assert adapter.headline.endswith(f"; {NUM_LORA} matrices of a LoRA adapter are frozen.")
    assert frozen.headline.startswith("Nothing can train") and "LoRA" not in frozen.headline
    assert not adapter.is_healthy and not frozen.is_healthy


class Net(nn.Module):
    """Three layers whose forward is one of the functions below."""

    def __init__(self, way):
        super().__init__()
        torch.manual_seed(0)
        self.way = way
        self.body, self.block, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        self.table = nn.Embedding(4, 4)

    def forward(self, x):
        return self.way(self, self.body(x)).sum()


def no_grad_in_the_middle(net, h):
    with torch.no_grad():
        h = net.block(h)
    return net.head(h)


def writes_a_copy(net, h):
    filled = torch.zeros(3, 4)
    filled[:] = h.detach()
    return net.head(filled)


def chooses_and_then_compares(net, h):
    h = net.table(h.argmax(-1))
    return net.head(h) * (h - h.detach()).exp()  # this detach has a live path beside it


def detach_inside_a_reentrant_checkpoint(net, h):
    def run(h):
        return h + net.block(h).detach()

    return net.head(checkpoint(run, h, use_reentrant=True))


def no_grad_inside_a_reentrant_checkpoint(net, h):
    def run(h):
        with torch.no_grad():
            return net.block(h)

    return net.head(h + checkpoint(lambda h: h + run(h), h, use_reentrant=True))


def nothing_left_of_a_reentrant_checkpoint(net, h):
    return net.head(checkpoint(lambda h: net.block(h).detach(), h, use_reentrant=True))


CUTS = {  # way through the net: (cause, module, parameters starved)
    "detach": (lambda net, h: net.head(h.detach()), Cause.DETACH, "", "body"),
    "data": (lambda net, h: net.head(h.data), Cause.DETACH, "", "body"),
    "masked": (lambda net, h: net.head((h > 0) * h.detach()), Cause.DETACH, "", "body"),
    "written into a buffer": (writes_a_copy, Cause.DETACH, "", "body"),
    "argmax": (lambda net, h: net.head(net.table(h.argmax(-1))), Cause.INTEGER, "", "body"),
    "argmax before a live detach": (chooses_and_then_compares, Cause.INTEGER, "", "body"),
    "topk": (lambda net, h: net.head(net.table(h.topk(1).indices)), Cause.INTEGER, "", "body"),
    "item": (lambda net, h: torch.tensor(h.sum().item()), Cause.ESCAPE, "", "body"),
    "no_grad": (no_grad_in_the_middle, Cause.NO_GRAD, "block", "body block"),
    "checkpoint of the input": (
        lambda net, h: net.head(checkpoint(net.block, torch.ones(4), use_reentrant=True)),
        Cause.CHECKPOINT, "block", "block",
    ),
    "detach in a checkpoint": (detach_inside_a_reentrant_checkpoint, Cause.DETACH, "", "block"),
    "no_grad in a checkpoint": (
        no_grad_inside_a_reentrant_checkpoint, Cause.NO_GRAD, "block", "block",
    ),
    "dead checkpoint": (nothing_left_of_a_reentrant_checkpoint, Cause.DETACH, "", "body block"),
}  # fmt: skip


@pytest.mark.parametrize(("way", "cause", "module", "starved"), CUTS.values(), ids=CUTS)
def test_a_cut_is_named_by_cause_module_and_the_parameters_it_starves(way, cause, module, starved):
    flow = audit_gradients(Net(way), torch.randn(3, 4))
    assert [(cut.cause, cut.modules) for cut in flow.cuts] == [(cause, (module,))]
    cut_off = {p.name.split(".")[0] for p in flow.parameters if p.flow is Flow.CUT}
    assert cut_off == set(starved.split()) and not flow.is_healthy


def test_the_report_shows_the_source_line_of_the_cut():
    flow = audit_gradients(Net(no_grad_in_the_middle), torch.randn(3, 4))
    assert "test_gradient_flow.py" in flow.cuts[0].place and "h = net.block(h)" in flow.text()


def looks_at_a_detached_copy(net, h):
    net.last = float(net.block(h).detach().mean())  # logged, not learned
    return net.head(h)


def starves_only_a_shape(net, h):
    net.head(h)  # the head's result is not used, and its shape and dtype are no values
    return h + torch.zeros_like(net.block(h)) + torch.zeros(3, 4).type_as(net.block(h).detach())


HEALTHY = {
    "importance ratio": lambda net, h: net.head((h - h.detach()).exp() * h),
    "mask from values": lambda net, h: net.head(h * (h > 0)),
    "logged head": looks_at_a_detached_copy,
    "checkpoint": lambda net, h: net.head(checkpoint(net.block, h, use_reentrant=True)),
    "shape and dtype": starves_only_a_shape,
}


@pytest.mark.parametrize("way", HEALTHY.values(), ids=HEALTHY)
def test_values_that_leave_the_graph_beside_a_live_path_raise_no_alarm(way):
    flow = audit_gradients(Net(way), torch.randn(3, 4))
    assert flow.is_healthy and flow.cuts == ()


def test_an_unused_head_is_reported_as_such_and_not_as_a_cut():
    flow = audit_gradients(Net(looks_at_a_detached_copy), torch.randn(3, 4))
    flows = {p.name: p.flow for p in flow.parameters}
    assert flows["block.weight"] is Flow.NO_EFFECT  # it was computed, for nothing
    assert flows["table.weight"] is Flow.UNUSED


def test_sparse_gradients_are_read():
    table = nn.Embedding(4, 2, sparse=True)
    flow = audit_gradients(table, torch.tensor([1]), loss_of=lambda ids: table(ids).sum())
    assert flow.is_healthy and flow.parameters[0].largest_grad == 1


def test_a_gradient_that_is_zero_everywhere_is_not_called_a_cut():
    flow = audit_gradients(Net(lambda net, h: net.head(h) * 0), torch.randn(3, 4))
    assert flow.cuts == () and not flow.is_healthy and flow.count(Flow.ZERO) == 4
    assert "exactly 0" in flow.headline


class Hidden(torch.autograd.Function):
    """Computes where no torch call shows it, as a Triton kernel does."""

    @staticmethod
    def forward(ctx, h):
        return torch.from_numpy(h.numpy() * 2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Open(Hidden):
    """Computes with torch calls, which autograd does not record in here."""

    @staticmethod
    def forward(ctx, h):
        return h * 2


@pytest.mark.parametrize("function", [Hidden, Open])
def test_a_function_with_its_own_derivative_is_not_blamed_for_a_later_detach(function):
    way = lambda net, h: net.head(function.apply(h).detach())  # noqa: E731
    flow = audit_gradients(Net(way), torch.ones(3, 4))
    assert [(cut.cause, cut.operation) for cut in flow.cuts] == [(Cause.DETACH, "detach")]


def test_a_cut_is_seen_through_a_function_whose_inside_is_not_visible():
    flow = audit_gradients(Net(lambda net, h: net.head(Hidden.apply(h.detach()))), torch.ones(3, 4))
    assert [cut.cause for cut in flow.cuts] == [Cause.DETACH]
    assert flow.count(Flow.CUT) == 2  # the body's weight and bias


@pytest.mark.parametrize(
    ("region", "cause"),
    [(torch.no_grad, Cause.NO_GRAD), (torch.inference_mode, Cause.INFERENCE_MODE)],
)
def test_a_loss_computed_without_grad_blames_the_region_not_the_checkpoint(region, cause):
    model = checkpointed(with_lora(qwen2()), use_reentrant=True, hook=True)

    def loss_of(batch):
        with region():
            return model(**batch).loss

    flow = audit_gradients(model, TEXT, loss_of=loss_of)
    assert [(cut.cause, cut.modules) for cut in flow.cuts] == [(cause, ("",))]


def test_the_audit_leaves_no_trace():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 1)).eval()
    model[0].weight.grad = torch.ones(4, 4)
    state = copy.deepcopy(model.state_dict())
    audit_gradients(model, torch.randn(3, 4), loss_of=lambda x: model(x).sum())
    assert model[0].weight.grad.equal(torch.ones(4, 4)) and model[3].weight.grad is None
    assert all(value.equal(state[name]) for name, value in model.state_dict().items())
    assert not any(module.training or module._forward_hooks for module in model.modules())


def test_random_numbers_go_on_as_if_nothing_had_run():
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout())
    batch, rng = torch.randn(3, 4), torch.get_rng_state()
    audit_gradients(model, batch, loss_of=lambda x: model(x).sum())
    assert torch.get_rng_state().equal(rng)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_trainer_is_audited_with_the_checkpointing_that_its_train_switches_on(
    tmp_path, monkeypatch, use_reentrant
):
    monkeypatch.setattr(PreTrainedModel, "enable_input_require_grads", lambda model: None)
    settings = {"use_reentrant": use_reentrant}
    args = TrainingArguments(
        tmp_path, activation_checkpointing=True, activation_checkpointing_kwargs=settings,
        report_to="none", use_cpu=True,
    )  # fmt: skip
    trainer = Trainer(with_lora(qwen2()), args, train_dataset=[{"input_ids": IDS[0]}])
    assert audit_gradients(trainer, TEXT).is_healthy is not use_reentrant
    assert not trainer.model.get_base_model().is_activation_checkpointing  # put back


def test_a_batch_without_labels_is_refused_with_the_way_out():
    with pytest.raises(BadRequest, match="no scalar loss") as refusal:
        audit_gradients(qwen2(), {"input_ids": IDS})
    assert "labels" in refusal.value.fix and "loss_of" in refusal.value.fix


def test_the_report_reads_as_text_page_and_data():
    flow = audit_gradients(Net(lambda net, h: net.head(h.detach())), torch.randn(3, 4))
    assert flow.to_dict()["cuts"][0]["cause"] == Cause.DETACH
    assert "<table>" in flow.html() and flow.headline in flow.text()
