"""Real models and Trainers: the graph is cut where the audit says, or it is whole. About 10 s."""

import copy

import peft
import pytest
import torch
from torch import nn
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
        tmp_path,
        activation_checkpointing=True,
        activation_checkpointing_kwargs=settings,
        report_to="none",
        use_cpu=True,
    )
    trainer = Trainer(with_lora(qwen2()), args, train_dataset=[{"input_ids": IDS[0]}])
    assert audit_gradients(trainer, TEXT).is_healthy is not use_reentrant
    assert not trainer.model.get_base_model().is_activation_checkpointing  # put back


def test_a_batch_without_labels_is_refused_with_the_way_out():
    with pytest.raises(BadRequest, match="no scalar loss") as refusal:
        audit_gradients(qwen2(), {"input_ids": IDS})
    assert "labels" in refusal.value.fix and "loss_of" in refusal.value.fix
