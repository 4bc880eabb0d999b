"""Exercise 09.5: a KL term whose gradient is that of the KL, checked by enumeration."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checks.declare import Criterion, Exercise

CASES = ((0, 0.3), (1, 1.0), (2, 2.0), (3, 12.0))  # seeds, and how far the reference is
VOCABULARY = 20


def true_gradient(logits: Tensor, reference: Tensor) -> Tensor:
    """Of KL(policy || reference) in the logits, as a sum over the vocabulary."""
    leaf = logits.clone().requires_grad_()
    p, logp = leaf.softmax(-1), leaf.log_softmax(-1)
    (p * (logp - reference.log_softmax(-1))).sum().backward()
    return leaf.grad


def expected_gradient(kl_loss: Callable, logits: Tensor, reference: Tensor) -> Tensor | str:
    """What the loss of sampled tokens gives on average: each token weighs its probability."""
    leaf = logits.clone().requires_grad_()
    logp = leaf.log_softmax(-1)
    loss = kl_loss(logp, reference.log_softmax(-1))
    if not loss.requires_grad:
        return "the result has no graph, so it cannot train anything"
    (logits.softmax(-1) * loss).sum().backward()
    return leaf.grad


def _cases():
    for seed, distance in CASES:
        generator = torch.Generator().manual_seed(seed)
        logits = torch.randn(VOCABULARY, generator=generator, dtype=torch.float64) * 2
        other = torch.randn(VOCABULARY, generator=generator, dtype=torch.float64) * distance
        yield logits, logits + other


def gives_one_number_a_token(kl_loss) -> str | None:
    for shape in ((4,), (2, 3), (1,)):
        logp = -torch.rand(shape) - 0.1
        got = kl_loss(logp, logp - 0.2)
        if not isinstance(got, Tensor):
            return f"it returns a {type(got).__name__}; a tensor is needed"
        if got.shape != logp.shape:
            return f"log-probs of shape {shape} give a result of shape {tuple(got.shape)}"
    return None


def has_a_graph(kl_loss) -> str | None:
    got = expected_gradient(kl_loss, *next(_cases()))
    return got if isinstance(got, str) else None


def points_down_the_kl(kl_loss) -> str | None:
    if has_a_graph(kl_loss):
        return "there is no gradient"
    for logits, reference in _cases():
        got = expected_gradient(kl_loss, logits, reference)
        want = true_gradient(logits, reference)
        if got.norm() < 1e-9 * want.norm():
            return f"the expected gradient is 0; that of the KL has the norm {want.norm():.3f}"
        cosine = torch.nn.functional.cosine_similarity(got, want, dim=0).item()
        if cosine < 0.999:
            return f"the cosine of its gradient with that of the KL is {cosine:.3f}"
    return None


def has_the_right_length(kl_loss) -> str | None:
    if points_down_the_kl(kl_loss):
        return "its direction is not that of the KL, so its length was not compared"
    for logits, reference in _cases():
        got = expected_gradient(kl_loss, logits, reference).norm()
        ratio = (got / true_gradient(logits, reference).norm()).item()
        if abs(ratio - 1) > 0.01:
            return f"its norm is {ratio:.3f} times that of the KL's gradient"
    return None


def k2(logp, ref_logp):
    return 0.5 * (logp - ref_logp) ** 2


KL = Exercise(
    id="09.5",
    name="KL",
    title="A penalty with the right gradient",
    minutes=6,
    difficulty="one line",
    points=3,
    reads="kl_loss",
    expects=(Callable,),
    hints=(
        "Two things depend on the weights: the term, and which tokens are sampled. Which of these "
        "does autograd see?",
        "The gradient of the KL is the expectation of (logp - ref_logp) times the gradient of "
        "logp. Which function of logp has (logp - ref_logp) as its derivative?",
        "With d = logp - ref_logp: which term in d has the derivative d? Or which of two factors "
        "may autograd not see?",
    ),
    form=gives_one_number_a_token,
    criteria=(
        Criterion(
            "The result can be differentiated.",
            has_a_graph,
            why="a detached penalty is only a number in the log",
            next="keep logp in the graph",
        ),
        Criterion(
            "On average over sampled tokens, its gradient has the direction of the KL's gradient.",
            points_down_the_kl,
            why="the value can be right while the gradient is that of another divergence, or 0",
            next="differentiate your term by hand: which factor multiplies the gradient of logp?",
        ),
        Criterion(
            "And it has the same norm.",
            has_the_right_length,
            why="otherwise beta has another effect than its value says",
            next="mind the factor one half",
        ),
    ),
    answer=k2,
)
