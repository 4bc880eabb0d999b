"""Exercise 08.1: what each micro-batch divides by, so that gradients add up to the token mean."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.exercises.compare import number_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_08 import parts_answers as answers

# Numbers of targets in each micro-batch.
UNEVEN, EVEN, ALONE, GAPS = (2, 4), (3, 3, 3), (5,), (0, 7, 1, 0, 30)


def _drawn(counts: tuple[int, ...], dtype=torch.float32) -> list[Tensor]:
    draw = torch.Generator().manual_seed(sum(counts) + len(counts))
    losses = [4 * torch.rand(n, generator=draw).to(dtype) for n in counts]
    if max(counts) > 3:
        losses[counts.index(max(counts))].data[1] = 0.0  # a token that is learnt already
    return [loss.requires_grad_() for loss in losses]


def gives_one_number_each(parts) -> str | None:
    got = parts(_drawn(UNEVEN))
    if not isinstance(got, (list, tuple)) or len(got) != len(UNEVEN):
        return f"it gives {_said(got)} for two micro-batches; a list of two tensors is asked"
    for one in got:
        if not isinstance(one, Tensor) or one.numel() != 1:
            return f"its list holds {_said(one)}; tensors of one number are asked"
    return None


def _said(value: object) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if hasattr(value, "__len__") else "")


def _adds_up(parts, counts: tuple[int, ...], dtype=torch.float32) -> str | None:
    losses = _drawn(counts, dtype)
    want = torch.cat(losses).detach().double().mean().item()
    got = sum(one.item() for one in parts(losses))
    given = f"micro-batches of {', '.join(map(str, counts))} targets, added up,"
    return number_differs(got, want, rtol=1e-5, given=given)


def adds_up_to_the_token_mean(parts) -> str | None:
    return _adds_up(parts, UNEVEN) or _adds_up(parts, (1, 2, 40))


def every_token_weighs_the_same(parts) -> str | None:
    for counts in (EVEN, UNEVEN, (1, 2, 40)):
        losses, due = _drawn(counts), 1 / sum(counts)
        for number, part in enumerate(parts(losses)):
            if not part.requires_grad:
                return f"part {number} has no graph, so nothing is learnt from it"
            grads = torch.autograd.grad(part.sum(), losses, retain_graph=True, allow_unused=True)
            for other, grad in enumerate(grads):
                if grad is not None and other != number and grad.any():
                    return f"part {number} depends on micro-batch {other}, whose graph is gone"
            if grads[number] is None:
                return f"part {number} does not depend on its own micro-batch"
            for weight in grads[number].tolist():
                if seen := number_differs(
                    weight, due, rtol=1e-5, given=f"one token of {sum(counts)}, the gradient,"
                ):
                    return seen
    return None


def works_for_any_micro_batches(parts) -> str | None:
    return (
        _adds_up(parts, ALONE)
        or _adds_up(parts, GAPS)
        or _adds_up(parts, (3, 11, 2), torch.float64)
    )


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
        "Which one number must every micro-batch divide by, for its tokens to weigh alike?",
        "It is known only once all micro-batches of the step have been looked at.",
        "Count the tokens of all micro-batches first; then each part is a sum over that count.",
    ),
    form=gives_one_number_each,
    criteria=(
        Criterion(
            "The parts add up to the mean over all tokens.",
            adds_up_to_the_token_mean,
            why="gradients are added from one backward pass to the next, so the parts must be too",
            next="work it out for losses [4, 2] and [1, 1, 1, 1]: the mean of the six is 10/6",
        ),
        Criterion(
            "Each part knows its own tokens alone, and each token weighs one share.",
            every_token_weighs_the_same,
            why="the graph of a micro-batch is gone when the next one comes",
            next="ask for the gradient of a part with respect to each token's loss",
        ),
        Criterion(
            "It works for one micro-batch, for empty ones, and in float64.",
            works_for_any_micro_batches,
            why="a row that was cut before its reply has no targets, and 0/0 is nan",
            next="try a micro-batch without a single target",
        ),
    ),
    right=(answers.sum_over_count, answers.with_a_cat, answers.with_weights),
    wrong=(
        Wrong(answers.one_total, caught_by=gives_one_number_each),
        Wrong(answers.per_token, caught_by=gives_one_number_each),
        Wrong(answers.floats, caught_by=gives_one_number_each),
        Wrong(answers.means, caught_by=adds_up_to_the_token_mean),
        Wrong(answers.means_over_g, caught_by=adds_up_to_the_token_mean),
        Wrong(answers.sums, caught_by=adds_up_to_the_token_mean),
        Wrong(answers.sums_over_g, caught_by=adds_up_to_the_token_mean),
        Wrong(answers.padding_counted, caught_by=adds_up_to_the_token_mean),
        Wrong(answers.whole_over_g, caught_by=every_token_weighs_the_same),
        Wrong(answers.detached, caught_by=every_token_weighs_the_same),
        Wrong(answers.nonzero_losses_counted, caught_by=adds_up_to_the_token_mean),
        Wrong(answers.mean_times_share, caught_by=works_for_any_micro_batches),
        Wrong(answers.empty_ones_counted, caught_by=works_for_any_micro_batches),
    ),
)
