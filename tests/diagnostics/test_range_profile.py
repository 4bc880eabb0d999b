"""The range profile answers as the format itself does when the step is really run in it. ~10 s."""

import copy

import matplotlib.pyplot as plt
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers import (
    BertConfig,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
    Trainer,
    TrainingArguments,
)

from course_utils.diagnostics import audit_gradients, profile_ranges
from course_utils.diagnostics.range_profile import Kind
from course_utils.errors import BadRequest
from course_utils.zoo import load_policy, load_tokenizer


def text():
    batch = load_tokenizer("tiny")(["12+34=46", "1+1=2"], return_tensors="pt", padding=True)
    return {**batch, "labels": batch["input_ids"]}


def gemma(stream=1.0):
    """The tiny Gemma 3 with its residual stream multiplied: the same function, larger inside."""
    model = load_policy("tiny-gemma3", device="cpu")
    with torch.no_grad():
        model.model.embed_tokens.embed_scale *= stream
        for name, module in model.named_modules():
            if name.endswith(("post_attention_layernorm", "post_feedforward_layernorm")):
                module.weight.copy_((1 + module.weight) * stream - 1)
    return model


class Scales(nn.Module):
    """Three layers that multiply by the given numbers, and a sum outside of any module."""

    def __init__(self, *factors, checkpointed=False):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(1, 1, bias=False) for _ in factors)
        self.checkpointed = checkpointed
        for layer, factor in zip(self.layers, factors, strict=True):
            nn.init.constant_(layer.weight, factor)

    def forward(self, x):
        for layer in self.layers:
            run = checkpoint(layer, x, use_reentrant=True) if self.checkpointed else layer(x)
            x = x + run
        return x


def scaled(*factors, x=1.0, **settings):
    model = Scales(*factors, **settings)
    batch = torch.full((1, 1), x, requires_grad=True)
    return profile_ranges(model, batch, loss_of=lambda x: model(x).sum())


@pytest.mark.parametrize(("stream", "survives"), [(1.0, True), (20_000.0, False)])
def test_the_verdict_on_float16_is_what_a_run_in_float16_shows(stream, survives):
    profile = profile_ranges(gemma(stream), text())
    assert bool(profile.survives("float16")) is survives
    assert gemma(stream).half()(**text()).logits.isfinite().all().item() is survives
    assert profile.survives("bfloat16") and gemma(stream).bfloat16()(**text()).loss.isfinite()


def test_the_margin_says_how_far_the_stream_may_grow():
    def survival(stream):
        return profile_ranges(gemma(stream), text(), backward=False).survives("fp16")

    limit = 2_000.0 * survival(2_000.0).margin
    assert limit > 2_000.0 and survival(0.99 * limit) and not survival(1.01 * limit)


@pytest.mark.parametrize(
    ("factors", "place"),
    [
        ((1e5, 1e-5, 1.0), "layers.0.weight"),  # a weight is there before the pass begins
        ((300.0, 300.0, 1.0), "output of layers.1"),
        ((60_000.0, 0.5, 1.0), "input of layers.2"),  # the sum is made by no module
    ],
)
def test_the_first_place_is_first_in_the_order_of_execution(factors, place):
    assert scaled(*factors).survives("fp16").first.place == place


def test_a_number_that_rounds_to_the_limit_still_fits():
    assert scaled(0.0, x=65519.0).survives("fp16")
    assert not scaled(0.0, x=65520.0).survives("fp16")


def test_masks_are_not_taken_for_large_numbers():
    class Masked(nn.Module):
        def forward(self, x):
            return x

    for mask in (float("-inf"), torch.finfo(torch.float32).min):
        profile = profile_ranges(Masked(), torch.tensor([1.0, mask]), backward=False)
        assert profile.survives("fp16") and profile.survives("fp16").largest.magnitudes.largest == 1


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_a_step_that_is_not_finite_at_all_survives_in_no_format(bad):
    verdict = scaled(1.0, x=bad).survives("float32")
    assert not verdict and "inf or nan" in verdict.headline


def test_the_share_of_lost_gradients_is_what_a_cast_to_float16_loses():
    model, batch = load_policy("tiny", device="cpu"), text()
    profile = profile_ranges(model, batch)
    model(**batch).loss.backward()
    grads = torch.cat([p.grad.flatten() for p in model.parameters()])
    grads = grads[grads != 0]
    lost = {s: (grads * s).half().eq(0).float().mean().item() for s in (1, 1024)}
    weights = profile.of(Kind.WEIGHT_GRADIENTS)
    total = weights[0].magnitudes
    for measured in weights[1:]:
        total |= measured.magnitudes
    fmt = profile.survives("fp16").format
    measured_loss = {s: total.share_lost(fmt, scale=s) for s in (1, 1024)}
    assert lost[1] > 0 and measured_loss == pytest.approx(lost, rel=1e-3)


def test_a_loss_scale_brings_small_gradients_back():
    model = Scales(1.0)
    loss_of = lambda x: model(x).sum() * 1e-9  # noqa: E731
    verdict = profile_ranges(model, torch.ones(1, 1), loss_of=loss_of).survives("fp16")
    assert (verdict.share_lost, verdict.share_lost_scaled) == (1.0, 0.0)
    assert verdict.loss_scale == 2**45  # 1e-9 * 2**45 = 35184, its double is beyond 65504
    assert "2^45" in verdict.text()


def test_the_optimizers_state_is_measured_after_a_step_that_is_undone():
    model, batch = load_policy("tiny", device="cpu"), text()
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.AdamW(model.parameters())
    profile = profile_ranges(model, batch, optimizer=optimizer)
    places = {measured.place for measured in profile.of(Kind.OPTIMIZER)}
    assert {"model.norm.weight exp_avg", "model.norm.weight exp_avg_sq"} <= places
    assert not optimizer.state
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())


def test_squared_gradients_vanish_where_the_gradients_do_not():
    model = Scales(1.0)
    optimizer = torch.optim.AdamW(model.parameters())
    profile = profile_ranges(
        model, torch.ones(1, 1), loss_of=lambda x: model(x).sum() * 1e-3, optimizer=optimizer
    )
    fmt = profile.survives("fp16").format
    state = {m.detail: m.magnitudes.share_lost(fmt) for m in profile.of(Kind.OPTIMIZER)}
    assert state == {"weight exp_avg": 0.0, "weight exp_avg_sq": 1.0}  # 1e-4 and 1e-9


def test_adamw_in_half_does_not_pass_and_neither_does_its_plan_in_float32():
    """Real AdamW on real half weights dies in its first step: both profiles have to say so."""
    planned, real = load_policy("tiny", device="cpu"), load_policy("tiny", device="cpu").half()
    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-4) for model in (planned, real)]
    before, after = (
        profile_ranges(model, text(), optimizer=optimizer)
        for model, optimizer in zip((planned, real), optimizers, strict=True)
    )
    assert not before.survives("fp16") and before.survives("fp16").divides_by_zero
    assert "optimizer divides by becomes 0" in before.headline and "holds" not in before.headline
    assert before.survives("bf16") and before.survives("fp32")
    assert not after.survives("fp16") and "after the step holds" in after.headline
    assert "float32" in before.fix and "the optimizer's step made it" in after.cause
    real(**text()).loss.backward()
    optimizers[1].step()
    assert not all(weight.isfinite().all() for weight in real.parameters())


def test_an_eps_that_half_can_say_leaves_the_share_of_lost_state_in_the_headline():
    model = Scales(1.0)
    optimizer = torch.optim.AdamW(model.parameters(), eps=1e-4)
    profile = profile_ranges(
        model, torch.ones(1, 1), loss_of=lambda x: model(x).sum() * 1e-3, optimizer=optimizer
    )
    verdict = profile.survives("fp16")
    assert verdict and not verdict.divides_by_zero and verdict.state_lost == 0.5
    assert "50.0% of the optimizer's state becomes 0" in profile.headline


@pytest.mark.parametrize(
    ("settings", "unseen"),
    [({"backward": False}, "backward and optimizer state"), ({}, "optimizer state")],
)
def test_the_verdict_says_what_it_does_not_rest_on(settings, unseen):
    profile = profile_ranges(load_policy("tiny", device="cpu"), text(), **settings)
    assert profile.headline.endswith(f"Not examined: {unseen}.")
    assert profile.survives("fp16").to_dict()["examined"][0] == "forward"


def test_an_overflow_under_autocast_is_blamed_on_the_format_it_was_computed_in():
    model = gemma(20_000.0)

    def loss_of(batch):
        with torch.autocast("cpu", dtype=torch.float16):
            return model(**batch).loss

    profile = profile_ranges(model, text(), loss_of=loss_of)
    verdict = profile.survives("float32")
    assert "left float16 itself" in verdict.headline and verdict.first.dtype == "float16"
    assert verdict.first.place == "output of model.layers.2.post_feedforward_layernorm"  # a -inf
    assert "Measured in float16" in profile.text()


def test_a_compiled_llama_is_profiled_and_audited_by_its_own_names():
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "vocab_size": 32}
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=2))
    batch = {"input_ids": torch.arange(8).view(2, 4), "labels": torch.arange(8).view(2, 4)}
    compiled = torch.compile(model, backend="eager")
    assert audit_gradients(compiled, batch).is_healthy
    assert "model.layers.0" in profile_ranges(compiled, batch).by_layer()


@pytest.mark.parametrize("kind", [Kind.ACTIVATIONS, Kind.GRADIENTS])
def test_reentrant_checkpointing_changes_no_measurement_of_outputs(kind):
    def largest(profile):
        outputs = [measured for measured in profile.of(kind) if measured.detail == "output"]
        return {measured.module: measured.magnitudes.largest for measured in outputs}

    plain = largest(scaled(3.0, 5.0))
    assert {"layers.0", "layers.1"} <= set(plain)
    assert largest(scaled(3.0, 5.0, checkpointed=True)) == plain


def test_an_encoder_without_a_loss_is_profiled_forward_only():
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = BertModel(BertConfig(vocab_size=16, intermediate_size=8, **sizes))
    batch = {"input_ids": torch.ones(1, 3, dtype=torch.long)}
    profile = profile_ranges(model, batch, backward=False)
    assert {"encoder.layer.0", "encoder.layer.1"} <= set(profile.by_layer())
    assert profile.survives("fp16").share_lost is None
    with pytest.raises(BadRequest, match="no scalar loss"):
        profile_ranges(model, batch)


def test_modules_that_return_tuples_are_measured():
    model = nn.LSTM(2, 2)
    profile = profile_ranges(model, torch.ones(3, 1, 2), loss_of=lambda x: model(x)[0].sum())
    assert profile.of(Kind.GRADIENTS) and profile.survives("fp16")


def test_a_trainer_is_profiled_with_its_own_batch_and_loss(tmp_path):
    rows = [{name: values[0].tolist() for name, values in text().items()}]
    args = TrainingArguments(tmp_path, report_to="none", use_cpu=True)
    trainer = Trainer(load_policy("tiny"), args, train_dataset=rows)
    profile = profile_ranges(trainer, next(iter(trainer.get_train_dataloader())))
    assert profile.survives("fp16") and "model.layers.0" in profile.by_layer(Kind.GRADIENTS)


def test_profiling_leaves_no_trace():
    model = load_policy("tiny").eval()
    batch, rng = text(), torch.get_rng_state()
    profile_ranges(model, batch)
    assert torch.get_rng_state().equal(rng)
    assert all(parameter.grad is None for parameter in model.parameters())
    hooks = (m._forward_hooks or m._forward_pre_hooks or m.training for m in model.modules())
    assert not any(hooks)


def test_a_model_in_half_precision_is_told_what_it_cannot_show():
    profile = profile_ranges(gemma(20_000.0).half(), text())
    assert "left float16 itself" in profile.headline
    assert "only float32 shows how far" in profile.text() and "inf or nan" in profile.text()


@pytest.mark.parametrize(
    ("stream", "title"),
    [(1.0, "holds the activations of every layer"), (20_000.0, "leaves the range of float16")],
)
def test_the_figures_title_states_the_finding(stream, title):
    _, ax = plt.subplots()
    profile_ranges(gemma(stream), text(), backward=False).draw(ax)
    assert title in ax.get_title() and ax.get_yscale() == "log"
    assert "float16: 65504" in {label.get_text() for label in ax.texts}
    plt.close()


def test_the_report_reads_as_text_page_and_data():
    profile = scaled(300.0, 300.0)
    data = profile.to_dict()
    assert data["survives"]["float16"]["first"] == "output of layers.1"
    assert data["survives"]["float32"]["survives"] is True
    assert "<table>" in profile.html() and profile.headline in profile.text()
