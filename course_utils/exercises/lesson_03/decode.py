"""Exercise 03.2: the number that the Trainer logs once the loss has become nan."""

import math
import random
from collections.abc import Callable

from course_utils.checks.compare import number_differs
from course_utils.checks.declare import Criterion, Exercise

# The Trainer adds in float32, so an answer may do so too; 32 multiplications cost 1e-5.
ROUNDING = 1e-4
KNOWN = ((25, 8), (10, 32), (25, 32), (500, 4))


def accumulator(first_loss: float, num_steps: int, num_micro_batches: int) -> float:
    """What the Trainer's accumulator logs when only the first of its steps is healthy.

    A transcript of its loop, not of the formula that is asked; source: `_inner_training_loop`
    of transformers 5.23, which a test compares with a real Trainer.
    """
    total = first_loss
    for global_step in range(1, num_steps):
        for _ in range(num_micro_batches):
            total += total / (1 + global_step)
    return total / num_steps


def _differs_in_some_window(logged_loss, windows) -> str | None:
    for number, (n, g) in enumerate(windows):
        first_loss = (0.7, 0.55, 1.3)[number % 3]
        given = f"first_loss {first_loss:g}, N = {n}, G = {g}"
        want = accumulator(first_loss, n, g)
        if seen := number_differs(logged_loss(first_loss, n, g), want, rtol=ROUNDING, given=given):
            return seen
    return None


def is_a_number(logged_loss) -> str | None:
    return number_differs(logged_loss(0.7, 1, 1), 0.7, rtol=math.inf, given="N = 1, G = 1")


def one_micro_batch(logged_loss) -> str | None:
    return _differs_in_some_window(logged_loss, [(n, 1) for n in (1, 2, 3, 10, 25, 47)])


def any_window(logged_loss) -> str | None:
    rng = random.Random(3)
    drawn = [(rng.randint(2, 60), rng.randint(2, 20)) for _ in range(12)]
    return _differs_in_some_window(logged_loss, [(2, 2), (1, 32), *KNOWN, *drawn])


def linear(logged_loss) -> str | None:
    for n, g in [(25, 8), (25, 32), (6, 3)]:
        base = float(logged_loss(0.7, n, g))
        for loss in (0.07, 0.35, 1.4, 5.0):
            given = f"first_loss {loss:g}, N = {n}, G = {g}, where 0.7 gives {base:.3g},"
            got, want = logged_loss(loss, n, g), loss / 0.7 * base
            if seen := number_differs(got, want, rtol=ROUNDING, given=given):
                return seen
    return None


def logged_as_product(first_loss, logging_steps, accumulation_steps):
    factors = [(s + 1) / s for s in range(2, logging_steps + 1)]
    return first_loss * math.prod(factors) ** accumulation_steps / logging_steps


LOGGED = Exercise(
    id="03.2",
    name="LOGGED",
    title="Predict the number in the log",
    minutes=12,
    difficulty="one formula",
    points=4,
    reads="logged_loss",
    expects=(Callable,),
    form=is_a_number,
    hints=(
        "By which factor does one nan micro-batch multiply the accumulator in step 2? In step 3?",
        "global_step counts finished optimizer steps: in step s the factor is (s + 1) / s, and it "
        "is applied once per micro-batch of that step.",
        "Write out the product of (s + 1) / s for s = 2, 3, 4: what cancels? Every factor occurs "
        "G times. And the log shows a mean over the window.",
    ),
    criteria=(
        Criterion(
            "It agrees with the Trainer's accumulator for G = 1.",
            one_micro_batch,
            why="with one micro-batch per step, the product of the factors is the whole formula",
            next="write down the accumulator after steps 1, 2 and 3 by hand",
        ),
        Criterion(
            "It agrees with the accumulator for any N and G.",
            any_window,
            why="the factor is applied once per micro-batch, the divisor counts optimizer steps",
            next="check N = 2, G = 2 by hand: 1 step healthy, then two factors of 3/2",
        ),
        Criterion(
            "Twice the first loss gives twice the logged number.",
            linear,
            why="otherwise the first loss cannot be calculated back from the log",
            next="the first loss enters once, as a factor",
        ),
    ),
    answer=logged_as_product,
)
