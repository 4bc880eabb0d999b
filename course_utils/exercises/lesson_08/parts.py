"""Exercise 08.1: what each micro-batch divides by, so that gradients add up to the token mean."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checks.compare import number_differs
from course_utils.checks.declare import Criterion, Exercise

# Numbers of targets in each micro-batch.
UNEVEN, EVEN, ALONE, GAPS = (2, 4), (3, 3, 3), (5,), (0, 7, 1, 0, 30)


class _Step:
    """The token losses of a step's micro-batches, and what a loop does with the parts."""

    def __init__(self, counts: tuple[int, ...], dtype=torch.float32) -> None:
        self.counts = counts
        draw = torch.Generator().manual_seed(sum(counts) + len(counts))
        self.losses = [4 * torch.rand(n, generator=draw).to(dtype) for n in counts]
        if max(counts) > 3:
            self.losses[counts.index(max(counts))][1] = 0.0  # a token that is learnt already
        self.weights = []  # of each token: the gradient of its part
        for loss in self.losses:
            loss.requires_grad_()

    @property
    def given(self) -> str:
        return f"micro-batches of {', '.join(map(str, self.counts))} targets"

    def backward(self, parts) -> str | None:
        """What would end the loop's backward passes, each with no graph but its own."""
        for number, part in enumerate(parts(self.losses)):
            named = f"with {self.given}, part {number}"
            if not part.requires_grad:
                return (
                    f"{named} has no graph, so the loop's .backward() raises: detach(), .item() "
                    "or a new tensor cuts it off"
                )
            grads = torch.autograd.grad(part, self.losses, retain_graph=True, allow_unused=True)
            ties = [n for n, grad in enumerate(grads) if n != number and grad is not None]
            if ties:
                # Its graph is one with theirs: whichever pass comes first frees it for both.
                return f"{named} also holds the graph of micro-batch {ties[0]}"
            if grads[number] is not None:
                self.weights += grads[number].tolist()
            elif self.counts[number]:
                return f"{named} does not depend on its own micro-batch"
        return None


def gives_one_number_each(parts) -> str | None:
    for counts in (UNEVEN, GAPS):
        got, num = parts(_Step(counts).losses), len(counts)
        if not isinstance(got, (list, tuple)) or len(got) != num:
            return f"it returns {_said(got)} for {num} micro-batches; a list of {num} is needed"
        for number, one in enumerate(got):
            if not isinstance(one, Tensor) or one.dim():
                empty = "" if counts[number] else f" for micro-batch {number}, which is empty"
                return f"its list holds {_said(one)}{empty}; 0-d tensors are needed"
    return None


def _said(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if hasattr(value, "__len__") else "")


def _adds_up(parts, counts: tuple[int, ...], dtype=torch.float32) -> str | None:
    step = _Step(counts, dtype)
    want = torch.cat(step.losses).detach().double().mean().item()
    got = sum(one.item() for one in parts(step.losses))
    return number_differs(got, want, rtol=1e-5, given=f"{step.given}, added up,")


def _weighs_the_same(parts, counts: tuple[int, ...]) -> str | None:
    step = _Step(counts)
    if seen := step.backward(parts):
        return seen
    due, given = 1 / sum(counts), f"one token of {sum(counts)}, the gradient,"
    seen = (number_differs(weight, due, rtol=1e-5, given=given) for weight in step.weights)
    return next(filter(None, seen), None)


def _first(look, *cases: tuple) -> str | None:
    return next(filter(None, (look(*case) for case in cases)), None)


def adds_up_to_the_token_mean(parts) -> str | None:
    return _first(_adds_up, (parts, UNEVEN), (parts, (1, 2, 40)))


def can_be_learnt_from_in_turn(parts) -> str | None:
    return _first(lambda counts: _Step(counts).backward(parts), (EVEN,), (UNEVEN,))


def every_token_weighs_the_same(parts) -> str | None:
    return _first(_weighs_the_same, (parts, EVEN), (parts, UNEVEN), (parts, (1, 2, 40)))


def _in_float64(parts) -> str | None:
    counts = (3, 11, 2)
    for number, part in enumerate(parts(_Step(counts, torch.float64).losses)):
        if part.dtype != torch.float64:
            return f"with losses in float64, part {number} is {part.dtype}"
    return _adds_up(parts, counts, torch.float64)


def works_for_any_micro_batches(parts) -> str | None:
    any_cut = ((parts, ALONE), (parts, GAPS))
    return _in_float64(parts) or _first(_adds_up, *any_cut) or _first(_weighs_the_same, *any_cut)


def sum_over_count(losses):
    count = sum(len(one) for one in losses)
    return [one.sum() / count for one in losses]


PARTS = Exercise(
    id="08.1",
    name="PARTS",
    title="What does a micro-batch divide by?",
    minutes=4,
    difficulty="two lines",
    points=3,
    reads="parts",
    expects=(Callable,),
    hints=(
        "Which one number must every micro-batch divide by, so that all tokens weigh the same?",
        "You know it only after you have counted in all micro-batches of the step.",
        "Count the tokens of all micro-batches first, as a plain number. What must each part be, "
        "so that all parts added up are the sum of all losses divided by that number?",
    ),
    form=gives_one_number_each,
    criteria=(
        Criterion(
            "The parts add up to the mean over all tokens.",
            adds_up_to_the_token_mean,
            why="backward passes add their gradients, so the parts must add up to the loss",
            next="work it out for losses [4, 2] and [1, 1, 1, 1]: the mean of the six is 10/6",
        ),
        Criterion(
            "The loop can call .backward() on one part after the other.",
            can_be_learnt_from_in_turn,
            why="a part without a graph has no gradient, and a backward pass frees its graph",
            next="give each part a graph of its own; all they share is a plain number",
        ),
        Criterion(
            "In the gradient, every token has the same weight.",
            every_token_weighs_the_same,
            why="the model learns from the gradient, and even a factor without a graph changes it",
            next="ask for the gradient of a part with respect to each token's loss",
        ),
        Criterion(
            "It works for one micro-batch, for empty ones, and in float64.",
            works_for_any_micro_batches,
            why="a row that was truncated before its reply has no targets, and the loop calls "
            ".backward() on its part all the same",
            next="try a micro-batch without a single target",
        ),
    ),
    answer=sum_over_count,
)
