"""Faults in tiny-qwen2 and tiny-gemma3, in a hand-written loop."""

import torch
from torch import Tensor, nn

from course_utils.zoo import load_policy, load_tokenizer

from .planted import Fault, Step, step

INF = float("inf")


def load(name: str, **kwargs) -> nn.Module:
    return load_policy(name, device="cpu", **kwargs).train()


def make_batch(name: str = "tiny") -> dict[str, Tensor]:
    """Two sums of different length, padded on the left, with labels."""
    tokenizer = load_tokenizer(name)
    tokenizer.padding_side = "left"
    batch = dict(tokenizer(["1+2=3", "17+25=42"], padding=True, return_tensors="pt"))
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


def scale_stream(model: nn.Module, k: float) -> nn.Module:
    """Multiply the whole residual stream of a Gemma 3 by k; its function stays the same."""
    model.model.embed_tokens.embed_scale.mul_(k)
    with torch.no_grad():
        for layer in model.model.layers:
            for norm in (layer.post_attention_layernorm, layer.post_feedforward_layernorm):
                norm.weight.copy_((1 + norm.weight) * k - 1)
    return model


def qwen_step(model: nn.Module, loss_of=None, **kwargs) -> Step:
    return step(model, loss_of or (lambda batch: model(**batch).loss), make_batch(), **kwargs)


def attention_row_hides_all() -> Step:
    model = load("tiny")
    model.set_attn_implementation("eager")

    def loss_of(batch):
        num_tokens = batch["input_ids"].shape[1]
        mask = torch.full((1, 1, num_tokens, num_tokens), -INF).triu(1)
        mask[..., 0, 0] = -INF  # the first token has nobody left to look at
        return model(batch["input_ids"], attention_mask=mask, labels=batch["labels"]).loss

    return qwen_step(model, loss_of)


def nan_in_a_deep_weight() -> Step:
    model = load("tiny")
    with torch.no_grad():
        model.model.layers[2].mlp.up_proj.weight[3, 5] = float("nan")
    return qwen_step(model)


def temperature_is_zero() -> Step:
    model = load("tiny")

    def loss_of(batch):
        scores = model(batch["input_ids"]).logits / torch.zeros(())
        return scores.log_softmax(-1).mean()

    return qwen_step(model, loss_of)


def kl_of_a_hopeless_token() -> Step:
    """The policy has ruled out a token that the reference likes; clamped after exp."""
    model = load("tiny")

    def loss_of(batch):
        logp = model(batch["input_ids"]).logits.mul(40).log_softmax(-1)
        gap = logp.detach().amax(-1, keepdim=True) - logp
        return (gap.exp() - gap - 1).clamp(-10, 10).mean()

    return qwen_step(model, loss_of)


def prompt_only_batch() -> Step:
    """All labels are -100: a mean over no token."""
    model = load("tiny")
    planted = qwen_step(model)
    planted.batch["labels"].fill_(-100)
    return planted


def adamw_on_half_weights() -> Step:
    model = load("tiny", dtype="float16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    loss_of = lambda batch: model(**batch).loss  # noqa: E731
    return Step(model, loss_of, make_batch(), optimizer, traces_optimizer=True)


def gemma_in_half_autocast() -> Step:
    model = scale_stream(load("tiny-gemma3"), 1e5)

    def loss_of(batch):
        with torch.autocast("cpu", dtype=torch.float16):
            return model(**batch).loss

    scaler = torch.amp.GradScaler("cpu")
    return step(model, loss_of, make_batch("tiny-gemma3"), scaler=scaler)


def gemma_in_pure_half() -> Step:
    model = scale_stream(load("tiny-gemma3"), 2e4).half()  # sqrt(128) * 2e4 is beyond 65504
    return step(model, lambda batch: model(**batch).loss, make_batch("tiny-gemma3"))


def gemma_embedding_is_inf() -> Step:
    model = load("tiny-gemma3")
    with torch.no_grad():
        model.model.embed_tokens.weight[:] = INF
    return step(model, lambda batch: model(**batch).loss, make_batch("tiny-gemma3"))


FAULTS = [
    Fault(
        attention_row_hides_all,
        "softmax",
        module="model.layers.0.self_attn",
        line="nn.functional.softmax(attn_weights",
    ),
    Fault(nan_in_a_deep_weight, "", "already in the weights", "model.layers.2.mlp.up_proj.weight"),
    Fault(temperature_is_zero, "div", line="/ torch.zeros(())", became_nan="log_softmax"),
    Fault(
        kl_of_a_hopeless_token,
        "exp",
        line="gap.exp() - gap - 1",
        became_nan="mul",
        reached="the gradient of",
    ),
    Fault(prompt_only_batch, "nll_loss_forward", line="cross_entropy("),
    Fault(
        adamw_on_half_weights,
        "addcdiv",
        "optimizer",
        "model.embed_tokens.weight",
        line="addcdiv_",
        reached="the weight",
    ),
    Fault(
        gemma_in_half_autocast,
        "to_copy",
        module="model.layers.0.post_attention_layernorm",
        line="output.type_as(x)",
        became_nan="mul",
    ),
    Fault(
        gemma_in_pure_half,
        "",
        "already in a buffer",
        module="model.embed_tokens.embed_scale",
        became_nan="mul",
    ),
    Fault(
        gemma_embedding_is_inf,
        "",
        "already in the weights",
        module="model.embed_tokens.weight",
        became_nan="mul",
    ),
]
