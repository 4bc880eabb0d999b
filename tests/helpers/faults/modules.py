"""Faults in small modules, weights and optimizers."""

from collections import OrderedDict

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from .planted import Fault, Step, Values, step

INF = float("inf")


def chain(**modules: nn.Module) -> nn.Sequential:
    """A Sequential with names, so that a report has something to say."""
    return nn.Sequential(OrderedDict(modules))


class Exp(nn.Module):
    def forward(self, x):
        return (x.exp() - x - 1).clamp(-10, 10)


def _checkpointed(use_reentrant: bool) -> Step:
    model = chain(body=nn.Linear(2, 2), squash=Exp())
    nn.init.constant_(model.body.weight, 60.0)

    def loss_of(x):
        return checkpoint(model, x, use_reentrant=use_reentrant).mean()

    return step(model, loss_of, torch.ones(1, 2, requires_grad=use_reentrant))


def k3_in_a_checkpointed_module() -> Step:
    return _checkpointed(False)


def k3_in_a_reentrant_checkpoint() -> Step:
    return _checkpointed(True)


class PostNorm(nn.Module):
    """A norm whose large weights leave float16 in the cast back, as Gemma's."""

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True)) * 1e5).type_as(x)


def post_norm_in_half() -> Step:
    model = chain(body=nn.Linear(4, 4), post_norm=PostNorm(), last_norm=nn.LayerNorm(4)).half()
    return step(model, lambda x: model(x).float().pow(2).sum(), torch.ones(1, 4).half())


def matrix_product_in_half() -> Step:
    model = chain(body=nn.Linear(64, 64), score_head=nn.Linear(64, 1)).half()
    nn.init.constant_(model.score_head.weight, 6e4)
    return step(model, lambda x: model(x).float().sum(), torch.ones(1, 64).half())


def sparse_gradient() -> Step:
    model = chain(body=nn.Embedding(4, 2, sparse=True))
    return step(model, lambda ids: (model(ids) * 0).sqrt().sum(), torch.tensor([1, 2]))


def nan_in_the_input() -> Step:
    model = chain(body=nn.Linear(2, 2))
    batch = {"features": torch.tensor([INF, 1.0])}
    return step(model, lambda b: model(*b.values()).sum(), batch)


def nan_in_a_weight() -> Step:
    model = chain(body=nn.Linear(2, 2), score_head=nn.Linear(2, 2))
    nn.init.constant_(model.score_head.bias, float("nan"))
    return step(model, lambda x: model(x).sum(), torch.ones(1, 2))


def nan_in_a_buffer() -> Step:
    model = chain(body=nn.Linear(2, 2), last_norm=nn.BatchNorm1d(2)).eval()
    model.last_norm.running_mean.fill_(float("nan"))
    return step(model, lambda x: model(x).sum(), torch.ones(3, 2))


def _half_adamw(**kwargs) -> Step:
    model = chain(score_head=nn.Linear(4, 1, bias=False)).half()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, **kwargs)
    batch = torch.full((1, 4), 1e-4).half()
    return Step(model, lambda x: model(x).sum(), batch, optimizer, traces_optimizer=True)


def adamw_foreach_in_half() -> Step:
    return _half_adamw(foreach=True)


def adamw_single_in_half() -> Step:
    return _half_adamw(foreach=False)


def learning_rate_is_inf() -> Step:
    model = Values([1.0, 2.0])
    optimizer = torch.optim.SGD(model.parameters(), lr=INF)
    return Step(model, lambda _: model.planted_weight.sum(), None, optimizer, traces_optimizer=True)


IN_CHECKPOINT = {
    "operation": "exp",
    "module": "squash",
    "line": "x.exp() - x - 1",
    "became_nan": "mul",
    "reached": "the gradient of body.weight",
}
STEPS = {"phase": "optimizer", "reached": "the weight"}

FAULTS = [
    Fault(k3_in_a_checkpointed_module, **IN_CHECKPOINT),
    Fault(k3_in_a_reentrant_checkpoint, **IN_CHECKPOINT),
    Fault(
        post_norm_in_half,
        "to_copy",
        module="post_norm",
        line="type_as(x)",
        became_nan="native_layer_norm",
    ),
    Fault(matrix_product_in_half, "addmm", module="score_head", line="model(x).float().sum()"),
    Fault(
        sparse_gradient,
        "div",
        "backward",
        line="(model(ids) * 0).sqrt()",
        became_nan="mul",
        reached="the gradient of body.weight",
    ),
    Fault(nan_in_the_input, "", "already in the input", module="features"),
    Fault(nan_in_a_weight, "", "already in the weights", module="score_head.bias"),
    Fault(nan_in_a_buffer, "", "already in a buffer", module="last_norm.running_mean"),
    Fault(adamw_foreach_in_half, "addcdiv", module="score_head.weight", line="addcdiv_", **STEPS),
    Fault(adamw_single_in_half, "addcdiv", module="score_head.weight", line="addcdiv_", **STEPS),
    Fault(learning_rate_is_inf, "add", module="planted_weight", line="add_", **STEPS),
]
