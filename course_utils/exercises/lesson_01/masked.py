"""Exercise 01.2: a masked mean of log p that garbage outside the mask cannot reach."""

from collections.abc import Callable

import torch

from course_utils.checks.compare import number_differs
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.probes import ROUNDING, agrees, gradients_agree, has_form

NAN, INF = float("nan"), float("inf")
GARBAGE = (0.0, NAN, INF, -INF, -1.0)
SHAPES = ((), (1,), (5,), (1, 4), (3, 5), (8, 32), (2, 3, 4), (2, 1, 3, 2))
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
# An answer may compute in float32 whatever it is given.
ALLOWED = ROUNDING | {torch.float64: 1e-4}
SMALLEST = {torch.float16: 1e-3, torch.bfloat16: 1e-20, torch.float32: 1e-20, torch.float64: 1e-20}


def _draw(generator, shape, dtype):
    """Probabilities in (0, 1], down to the dtype's smallest, and a mask that is not empty."""
    p = torch.rand(shape, generator=generator).clamp(min=1e-2)
    mask = torch.rand(shape, generator=generator) < 0.6
    p.view(-1)[0], mask.view(-1)[0] = SMALLEST[dtype], True
    return p.to(dtype), mask


def _oracle(p, mask):
    return p.double()[mask].log().mean()


def _filled(garbage: float):
    def draw(generator, shape, dtype):
        p, mask = _draw(generator, shape, dtype)
        return p.masked_fill(~mask, garbage), mask

    return draw


one_number = has_form(
    _draw, shapes=SHAPES, dtypes=DTYPES, result_dtype=None, result_shape=lambda shape: ()
)


def _agrees(draw, dtypes):
    return agrees(_oracle, draw, shapes=SHAPES, dtypes=dtypes, result_dtype=None, rounding=ALLOWED)


def _gradients(draw):
    return gradients_agree(_oracle, draw, shapes=SHAPES, dtypes=DTYPES, rounding=ALLOWED)


def _first(looks) -> Callable:
    """One criterion of several: the first thing that any of them saw."""

    def look_at_each(answer) -> str | None:
        return next(filter(None, (look(answer) for look in looks)), None)

    return look_at_each


def _named(given: str, look: Callable) -> Callable:
    def look_and_name(answer) -> str | None:
        seen = look(answer)
        return f"with {given} outside the mask, {seen}" if seen else None

    return look_and_name


healthy_mean = _agrees(_draw, DTYPES)
value_survives = _first([_named(f"{g:g}", _agrees(_filled(g), DTYPES[:1])) for g in GARBAGE])
gradient_survives = _first(
    [_gradients(_draw), *(_named(f"{g:g}", _gradients(_filled(g))) for g in GARBAGE)]
)


def nothing_inside_is_repaired(masked_mean_log) -> str | None:
    mask = torch.tensor([True, True, False])
    for inside, want in ((NAN, NAN), (0.0, -INF), (-0.5, NAN)):
        given = f"p = {inside:g} inside the mask"
        got = masked_mean_log(torch.tensor([0.5, inside, 0.25]), mask)
        if seen := number_differs(got, want, rtol=0, given=given):
            return seen
    return None


def empty_mask_gives_zero(masked_mean_log) -> str | None:
    some = (torch.tensor([[0.5, 0.0, NAN]]), torch.tensor([0.25]), torch.tensor(0.25))
    for p in (*some, torch.zeros(0), torch.zeros(2, 0)):
        mask, leaf = torch.zeros(p.shape, dtype=torch.bool), p.clone().requires_grad_()
        value = masked_mean_log(leaf, mask)
        if seen := number_differs(value, 0.0, rtol=0, given="an empty mask"):
            return seen
        if not (isinstance(value, torch.Tensor) and value.requires_grad):
            return "with an empty mask the result has no graph, so its .backward() raises"
        value.backward()
        if leaf.grad is None or leaf.grad.any():
            shown = "None" if leaf.grad is None else leaf.grad.tolist()
            return f"with an empty mask the gradient is {shown}"
    return None


def masked_before_log(p, mask):
    return torch.where(mask, p, 1.0).log().sum() / mask.sum().clamp(min=1)


MASKED = Exercise(
    id="01.2",
    name="MASKED",
    title="A mean that ignores what is masked",
    minutes=7,
    difficulty="one or two lines",
    points=4,
    reads="masked_mean_log",
    expects=(Callable,),
    hints=(
        "What is the derivative of log at 0, and what is 0 times that?",
        "The backward pass visits both branches of where: the masked one gets a gradient of 0, "
        "and 0 times inf is nan.",
        "Make the masked input harmless before the log, by a choice and not by a product. Which "
        "number has a log of 0? Then divide by the number of tokens, at least 1.",
    ),
    form=one_number,
    criteria=(
        Criterion(
            "With healthy numbers it is the mean of log p over the mask.",
            healthy_mean,
            why="every token in the mask counts once, however small its p and whatever its row",
            next="work out p = 0.5 and 1e-20 in the mask by hand, and a third token outside",
        ),
        Criterion(
            "Its value does not depend on the elements outside the mask.",
            value_survives,
            why="nan times 0 is nan, so a product is no mask",
            next="choose instead of multiplying",
        ),
        Criterion(
            "Elements inside the mask are not repaired: nan stays nan, and 0 gives -inf.",
            nothing_inside_is_repaired,
            why="a nan or -inf that an ordinary number replaces is a bug that nobody will find",
            next="leave out only what the mask leaves out",
        ),
        Criterion(
            "Its gradient is 1 / (n p) inside the mask and 0 outside, never nan.",
            gradient_survives,
            why="training uses only the gradient, and a nan in the padding reaches every "
            "weight that computed the padding",
            next="call (2 * result).backward() with p = 0 outside the mask: is p.grad 2 / (n p)?",
        ),
        Criterion(
            "With an empty mask it is 0, and so is its gradient.",
            empty_mask_gives_zero,
            why="a reply that was cut off completely gives 0 / 0, and one nan spoils the batch",
            next="what should the divisor be when there is nothing to count? And is the 0 computed "
            "from p?",
        ),
    ),
    answer=masked_before_log,
)
