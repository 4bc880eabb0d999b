"""Faults in a few lines of PyTorch: loss functions, masks, small modules, optimizers."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from .planted import Fault, Step, Values, on_values, step

INF = float("inf")
KEEP = torch.tensor([1.0, 0.0])


def k3_clamped_after_exp() -> Step:
    def loss_of(gap):
        ratio = gap.exp()
        return (ratio - gap - 1).clamp(-10, 10).mean()

    return on_values(loss_of, [100.0, 0.1])


def k3_in_half() -> Step:
    def loss_of(gap):
        ratio = gap.exp()
        return (ratio - gap - 1).clamp(-10, 10).mean()

    return on_values(loss_of, [12.0, 0.1], dtype=torch.float16)


def ppo_ratio_under_min() -> Step:
    def loss_of(gap):
        ratio = gap.exp()
        return torch.minimum(ratio * 1.0, ratio.clamp(0.8, 1.2)).mean()

    return on_values(loss_of, [100.0, 0.1])


def nan_under_a_mask() -> Step:
    def loss_of(x):
        values = x.sqrt()
        return (values * KEEP).sum() / KEEP.sum()

    return on_values(loss_of, [1.0, -1.0])


def inf_under_a_mask() -> Step:
    def loss_of(x):
        values = x.exp()
        return (values * KEEP).sum() / KEEP.sum()

    return on_values(loss_of, [1.0, 100.0])


def masked_mean_of_nothing() -> Step:
    def loss_of(x):
        mask = torch.zeros(2)
        return (x * mask).sum() / mask.sum()

    return on_values(loss_of, [1.0, 2.0])


def mean_of_an_empty_selection() -> Step:
    return on_values(lambda x: x[x > 9].mean(), [1.0, 2.0])


def std_of_one_sample() -> Step:
    return on_values(lambda x: (x - x.mean()).sum() / x.std(), [1.0])


def softmax_of_a_hidden_row() -> Step:
    def loss_of(x):
        hidden = torch.tensor([[True, True], [False, True]])
        return x.masked_fill(hidden, -INF).softmax(-1)[:, 0].sum()

    return on_values(loss_of, [[1.0, 2.0], [3.0, 4.0]])


def entropy_with_log_of_zero() -> Step:
    def loss_of(p):
        logp = p.log()
        return -(p * logp).sum()

    return on_values(loss_of, [0.0, 1.0])


def entropy_of_forbidden_tokens() -> Step:
    def loss_of(logits):
        allowed = logits.masked_fill(torch.tensor([False, True, False]), -INF)
        return -(allowed.softmax(-1) * allowed.log_softmax(-1)).sum()

    return on_values(loss_of, [1.0, 2.0, 3.0])


def label_is_a_forbidden_token() -> Step:
    def loss_of(logits):
        allowed = logits.masked_fill(torch.tensor([False, True, False]), -INF)
        return -allowed.log_softmax(-1)[1]

    return on_values(loss_of, [1.0, 2.0, 3.0])


def where_around_a_square_root() -> Step:
    return on_values(lambda x: torch.where(x > 0, x.sqrt(), 0.0).sum(), [0.0, 1.0])


def norm_of_a_zero_vector() -> Step:
    return on_values(lambda x: (x**2).sum().sqrt(), [0.0, 0.0])


def root_of_zero_by_pow() -> Step:
    return on_values(lambda x: (x**0.5).sum(), [0.0, 1.0])


def acos_at_one() -> Step:
    return on_values(lambda x: x.acos().sum(), [1.0, 0.5])


def overflow_before_a_foreign_mask() -> Step:
    """The -inf of a mask is on the same tensor as the overflow, and is not to blame."""

    def loss_of(x):
        scores = x.masked_fill(torch.tensor([True, False, False]), -INF)
        return scores.exp().sum()

    return on_values(loss_of, [1.0, 100.0, 1.0])


def in_place_division_by_zero() -> Step:
    def loss_of(x):
        scores = x * 1.0
        scores[0].div_(torch.zeros(()))
        return scores.sum()

    return on_values(loss_of, [1.0, 2.0])


class BadBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        return grad / (grad - grad)


def custom_backward_divides_by_zero() -> Step:
    return on_values(lambda x: BadBackward.apply(x).sum(), [1.0, 2.0])


class Exp(nn.Module):
    def forward(self, x):
        return (x.exp() - x - 1).clamp(-10, 10)


def _checkpointed(use_reentrant: bool) -> Step:
    model = nn.Sequential(nn.Linear(2, 2), Exp())
    nn.init.constant_(model[0].weight, 60.0)

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
    model = nn.Sequential(nn.Linear(4, 4), PostNorm(), nn.LayerNorm(4)).half()
    return step(model, lambda x: model(x).float().pow(2).sum(), torch.ones(1, 4).half())


def matrix_product_in_half() -> Step:
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 1)).half()
    nn.init.constant_(model[1].weight, 6e4)
    return step(model, lambda x: model(x).float().sum(), torch.ones(1, 64).half())


def nan_in_the_input() -> Step:
    model = nn.Sequential(nn.Linear(2, 2))
    return step(model, lambda b: model(b["features"]).sum(), {"features": torch.tensor([INF, 1.0])})


def nan_in_a_weight() -> Step:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    nn.init.constant_(model[1].bias, float("nan"))
    return step(model, lambda x: model(x).sum(), torch.ones(1, 2))


def nan_in_a_buffer() -> Step:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval()
    model[1].running_mean.fill_(float("nan"))
    return step(model, lambda x: model(x).sum(), torch.ones(3, 2))


def _half_adamw(**kwargs) -> Step:
    model = nn.Linear(4, 1, bias=False).half()
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
    return Step(model, lambda _: model.x.sum(), None, optimizer, traces_optimizer=True)


def nan_gradient_under_a_scaler() -> Step:
    planted = k3_clamped_after_exp()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    return Step(planted.model, planted.loss_of, None, planted.optimizer, scaler=scaler)


GRADIENT = "the gradient of x"
EXP = {"operation": "exp", "line": "ratio = gap.exp()", "became_nan": "mul", "reached": GRADIENT}
IN_CHECKPOINT = {
    "operation": "exp",
    "module": "1",
    "line": "x.exp() - x - 1",
    "became_nan": "mul",
    "reached": "the gradient of 0.weight",
}
STEPS = {"phase": "optimizer", "reached": "the weight"}

FAULTS = [
    Fault(k3_clamped_after_exp, **EXP),
    Fault(k3_in_half, **EXP),
    Fault(ppo_ratio_under_min, **EXP),
    Fault(nan_gradient_under_a_scaler, **EXP),
    Fault(nan_under_a_mask, "sqrt", line="values = x.sqrt()"),
    Fault(inf_under_a_mask, "exp", line="values = x.exp()", became_nan="mul"),
    Fault(masked_mean_of_nothing, "div", line="(x * mask).sum() / mask.sum()"),
    Fault(mean_of_an_empty_selection, "mean", line="x[x > 9].mean()"),
    Fault(std_of_one_sample, "std", line="x.std()"),
    Fault(softmax_of_a_hidden_row, "softmax", line="softmax(-1)[:, 0]"),
    Fault(entropy_with_log_of_zero, "log", line="logp = p.log()", became_nan="mul"),
    Fault(entropy_of_forbidden_tokens, "mul", line="allowed.softmax(-1) * allowed"),
    Fault(label_is_a_forbidden_token, "masked_fill", line="allowed = logits.masked_fill"),
    Fault(where_around_a_square_root, "div", "backward", line="x.sqrt()", reached=GRADIENT),
    Fault(
        norm_of_a_zero_vector,
        "div",
        "backward",
        line="(x**2).sum().sqrt()",
        became_nan="mul",
        reached=GRADIENT,
    ),
    Fault(root_of_zero_by_pow, "pow", "backward", line="(x**0.5)", reached=GRADIENT),
    Fault(acos_at_one, "rsqrt", "backward", line="x.acos()", reached=GRADIENT),
    Fault(overflow_before_a_foreign_mask, "exp", line="scores.exp()"),
    Fault(in_place_division_by_zero, "div", line="scores[0].div_"),
    Fault(
        custom_backward_divides_by_zero,
        "div",
        "backward",
        line="return grad / (grad - grad)",
        reached=GRADIENT,
    ),
    Fault(k3_in_a_checkpointed_module, **IN_CHECKPOINT),
    Fault(k3_in_a_reentrant_checkpoint, **IN_CHECKPOINT),
    Fault(
        post_norm_in_half,
        "to_copy",
        module="1",
        line="type_as(x)",
        became_nan="native_layer_norm",
    ),
    Fault(matrix_product_in_half, "addmm", module="1", line="model(x).float().sum()"),
    Fault(nan_in_the_input, "", "already in the input", module="features"),
    Fault(nan_in_a_weight, "", "already in the weights", module="1.bias"),
    Fault(nan_in_a_buffer, "", "already in a buffer", module="1.running_mean"),
    Fault(adamw_foreach_in_half, "addcdiv", module="weight", line="addcdiv_", **STEPS),
    Fault(adamw_single_in_half, "addcdiv", module="weight", line="addcdiv_", **STEPS),
    Fault(learning_rate_is_inf, "add", module="x", line="add_", **STEPS),
]
