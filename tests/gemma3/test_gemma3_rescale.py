"""The range check and the exact rescaling, on text-only and multimodal Gemma 3 (6 s)."""

import pytest
import torch
from transformers import (
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Gemma3TextConfig,
    SiglipVisionConfig,
)

from course_utils import gemma3, zoo
from course_utils.errors import BadRequest, ModelUnavailable
from course_utils.gemma3.stream import post_norms

SENTENCE = {"input_ids": torch.arange(40).reshape(2, 20), "attention_mask": torch.ones(2, 20).int()}


def tiny() -> torch.nn.Module:
    return zoo.load_policy("tiny-gemma3", device="cpu").eval()


@torch.no_grad()
def logits_of(model, **batch) -> torch.Tensor:
    return model(**(batch or SENTENCE)).logits.float()


@pytest.mark.parametrize("factor", [2.0**15, 2.0**10, 2.0**5])
def test_a_power_of_two_changes_no_bit_of_the_logits(factor):
    model = gemma3.rescale_stream(tiny(), factor)
    assert torch.equal(logits_of(model), logits_of(tiny()))
    assert torch.equal(logits_of(gemma3.rescale_stream(model, 1 / 8)), logits_of(tiny()))


@pytest.mark.parametrize("factor", [20000.0, 3.7, 0.1, 2.0**-5])
def test_any_other_factor_costs_a_rounding(factor):
    # 28 is the largest logit; 1e-5 of it is 40 roundings of 6e-8 through four layers.
    difference = logits_of(gemma3.rescale_stream(tiny(), factor)) - logits_of(tiny())
    assert 0 < difference.abs().max() < 28 * 1e-5


def test_without_eps_a_small_stream_is_another_function():
    model = gemma3.rescale_stream(tiny(), 2.0**-8)
    exact = (logits_of(model) - logits_of(tiny())).abs().max()
    for norm in model.modules():
        if type(norm).__name__ == "Gemma3RMSNorm":
            norm.eps = model.config.rms_norm_eps
    assert (logits_of(model) - logits_of(tiny())).abs().max() > 1000 * exact


def test_the_stream_really_is_as_many_times_as_large():
    before = gemma3.check_range(tiny(), SENTENCE)
    after = gemma3.check_range(gemma3.rescale_stream(tiny(), 32), SENTENCE)
    for kind, times in (("stream", 32), ("post-norm", 32), ("branch", 1)):
        assert after.largest(kind).largest == pytest.approx(times * before.largest(kind).largest)


def test_the_verdict_of_the_range_check_is_what_float16_does():
    for factor in (1.0, 2.0**12.3, 2.0**13, 2.0**15):
        found = gemma3.check_range(gemma3.rescale_stream(tiny(), factor), SENTENCE)
        model = gemma3.rescale_stream(tiny(), factor)
        with torch.autocast("cpu", dtype=torch.float16):
            assert logits_of(model).isfinite().all().item() is found.survives_autocast, factor
        if factor < 5000:  # beyond, the embedding's scale itself leaves float16
            assert logits_of(model.half()).isfinite().all().item() is found.survives_half, factor


def test_the_recommended_factor_mends_pure_float16():
    loud = gemma3.rescale_stream(tiny(), 2.0**15)
    factor = gemma3.check_range(loud, SENTENCE).factor
    assert factor < 1
    assert gemma3.check_range(gemma3.rescale_stream(loud, factor), SENTENCE).factor == 1
    assert logits_of(loud.half()).isfinite().all()


def test_a_branch_that_is_too_large_is_not_blamed_on_the_stream():
    model = tiny()
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight.mul_(1e6)
    found = gemma3.check_range(model, SENTENCE)
    assert not found.can_be_rescaled and "layers.1.mlp" in found.headline
    assert not found.survives_autocast


def test_a_checkpoint_is_loaded_and_rescaled_by_path(tmp_path):
    model = tiny()
    with torch.no_grad():  # a stream that is too large in the weights themselves
        for norm in post_norms(model):
            norm.weight.copy_((1 + norm.weight) * 2.0**15 - 1)
    model.save_pretrained(tmp_path)
    zoo.load_tokenizer("tiny-gemma3").save_pretrained(tmp_path)
    assert not gemma3.check_range(str(tmp_path), device="cpu").survives_autocast
    mended = gemma3.load_for_float16(str(tmp_path), dtype="float16", device="cpu")
    assert gemma3.check_range(mended).survives_half
    assert (logits_of(mended) - logits_of(model)).abs().max() < 1


def test_image_features_are_rescaled_with_the_text():
    torch.manual_seed(0)
    text = Gemma3TextConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        head_dim=16,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    vision = SiglipVisionConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=28,
        patch_size=14,
    )
    config = Gemma3Config(
        text_config=text, vision_config=vision, mm_tokens_per_image=4, image_token_index=60
    )
    model = Gemma3ForConditionalGeneration(config).eval()
    torch.nn.init.normal_(model.model.multi_modal_projector.mm_input_projection_weight)
    ids = torch.tensor([[2, 60, 60, 60, 60, 5, 6]])
    batch = {"input_ids": ids, "pixel_values": torch.randn(1, 3, 28, 28)}
    batch["token_type_ids"] = (ids == 60).int()
    before = logits_of(model, **batch)
    assert torch.equal(logits_of(gemma3.rescale_stream(model, 64), **batch), before)


def test_bfloat16_weights_are_rescaled_without_losing_a_digit():
    model = tiny().bfloat16()
    before = logits_of(model)
    assert torch.equal(logits_of(gemma3.rescale_stream(model, 2.0**-4)), before)
    assert {norm.weight.dtype for norm in post_norms(model)} == {torch.float32}


@pytest.mark.parametrize("factor", [0, -1.0, float("inf"), float("nan")])
def test_a_factor_that_is_no_positive_number_is_refused(factor):
    with pytest.raises(BadRequest, match="factor"):
        gemma3.rescale_stream(tiny(), factor)


def test_another_network_is_refused_by_name():
    with pytest.raises(BadRequest, match="Qwen2ForCausalLM holds no Gemma 3"):
        gemma3.check_range("tiny-qwen2", device="cpu")
    with pytest.raises(ModelUnavailable):
        gemma3.check_range("/no/such/folder", device="cpu")


def test_another_model_than_a_gemma_is_sent_to_the_instrument_that_measures_any():
    with pytest.raises(BadRequest, match="no Gemma 3") as refusal:
        gemma3.check_range(zoo.load_policy("tiny", device="cpu"))
    assert "profile_ranges" in refusal.value.fix
