"""Faults in loss functions: outside any module, on one parameter."""

import torch

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


def softmax_of_a_row_hidden_by_logs() -> Step:
    """The -inf of the mask is computed, not written, and still not to blame."""

    def loss_of(x):
        hidden = torch.zeros(2).log()
        return (x + hidden).softmax(-1)[0]

    return on_values(loss_of, [1.0, 2.0])


def mask_of_the_batch_times_zero() -> Step:
    """The batch holds a mask of -inf, as it may; multiplying it by a weight of 0 may not."""
    model = Values([0.0, 1.0])
    mask = torch.tensor([-INF, 0.0])
    return step(model, lambda mask: (model.planted_weight * mask).sum(), mask)


def memory_never_written() -> Step:
    def loss_of(x):
        torch.use_deterministic_algorithms(True)  # fills new memory with NaN, so not by chance
        scores = x.new_empty(3)
        torch.use_deterministic_algorithms(False)
        scores[:2] = x
        return scores.sum()

    return on_values(loss_of, [1.0, 2.0])


def overflow_copied_into_new_memory() -> Step:
    def loss_of(x):
        torch.use_deterministic_algorithms(True)
        scores = x.new_empty(2)
        torch.use_deterministic_algorithms(False)
        scores.copy_(x.exp())
        return scores.sum()

    return on_values(loss_of, [1.0, 100.0])


def literal_inf_times_zero() -> Step:
    def loss_of(x):
        worst = torch.tensor(INF)
        return (x * worst).sum()

    return on_values(loss_of, [0.0, 1.0])


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


def nan_gradient_under_a_scaler() -> Step:
    planted = k3_clamped_after_exp()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    return Step(planted.model, planted.loss_of, None, planted.optimizer, scaler=scaler)


class Unseen(torch.autograd.Function):
    """A kernel that is no operation of PyTorch, as Triton's: here numpy writes the memory."""

    @staticmethod
    def forward(ctx, x, factor):
        out = x.new_zeros(x.shape)
        out.numpy()[:] = x.detach().numpy() * factor
        return out

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def overflow_before_an_unseen_kernel() -> Step:
    return on_values(lambda x: Unseen.apply(x.exp(), 1.0).sum(), [1.0, 100.0])


def nan_behind_an_unseen_kernel() -> Step:
    """The kernel makes nan of the inf that it reads."""
    return on_values(lambda x: Unseen.apply(x.exp(), INF - INF).sum(), [1.0, 100.0])


def nan_of_an_unseen_kernel() -> Step:
    return on_values(lambda x: Unseen.apply(x, INF - INF).sum(), [1.0, 2.0])


GRADIENT = "the gradient of planted_weight"
EXP = {"operation": "exp", "line": "ratio = gap.exp()", "became_nan": "mul", "reached": GRADIENT}
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
    Fault(softmax_of_a_row_hidden_by_logs, "softmax", line="(x + hidden).softmax(-1)[0]"),
    Fault(mask_of_the_batch_times_zero, "mul", line="(model.planted_weight * mask).sum()"),
    Fault(memory_never_written, "", "already in unwritten memory", line="x.new_empty(3)"),
    Fault(overflow_copied_into_new_memory, "exp", line="scores.copy_(x.exp())"),
    Fault(overflow_before_an_unseen_kernel, "exp", line="x.exp()"),
    Fault(nan_behind_an_unseen_kernel, "exp", line="x.exp()", became_nan="kernel"),
    Fault(nan_of_an_unseen_kernel, "kernel", line="out = x.new_zeros(x.shape)"),
    Fault(literal_inf_times_zero, "mul", line="(x * worst).sum()"),
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
]
