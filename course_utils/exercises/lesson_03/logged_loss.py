"""Exercise 03.2: the number that the Trainer logs once the loss has become nan."""

import math
from collections.abc import Callable

from course_utils.exercises.compare import number_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong


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


def _compare(logged_loss, windows) -> str | None:
    first_loss = 0.7
    for n, g in windows:
        got, want = logged_loss(first_loss, n, g), accumulator(first_loss, n, g)
        given = f"first_loss {first_loss:g}, N = {n}, G = {g}"
        seen = number_differs(got, want, rtol=1e-6, given=given)
        if seen:
            return seen
    return None


def one_micro_batch(logged_loss) -> str | None:
    return _compare(logged_loss, [(1, 1), (2, 1), (10, 1), (25, 1)])


def any_window(logged_loss) -> str | None:
    return _compare(logged_loss, [(2, 2), (25, 8), (10, 32), (25, 32), (500, 4)])


def linear(logged_loss) -> str | None:
    for n, g in [(25, 8), (25, 32)]:
        ratio = logged_loss(1.4, n, g) / logged_loss(0.7, n, g)
        given = f"first_loss 1.4 against 0.7, N = {n}, G = {g}, as a ratio,"
        seen = number_differs(ratio, 2.0, rtol=1e-6, given=given)
        if seen:
            return seen
    return None


def logged_as_product(first_loss, logging_steps, accumulation_steps):
    factors = [(s + 1) / s for s in range(2, logging_steps + 1)]
    return first_loss * math.prod(factors) ** accumulation_steps / logging_steps


def logged_in_closed_form(first_loss, logging_steps, accumulation_steps):
    return first_loss * ((logging_steps + 1) / 2) ** accumulation_steps / logging_steps


def forgets_the_division(first_loss, logging_steps, accumulation_steps):
    return first_loss * ((logging_steps + 1) / 2) ** accumulation_steps


def once_a_step(first_loss, logging_steps, accumulation_steps):
    return first_loss * ((logging_steps + 1) / 2) / logging_steps


def divides_by_micro_batches(first_loss, logging_steps, accumulation_steps):
    return forgets_the_division(first_loss, logging_steps, accumulation_steps) / (
        logging_steps * accumulation_steps
    )


def starts_one_too_early(first_loss, logging_steps, accumulation_steps):
    return first_loss * (logging_steps + 1) ** accumulation_steps / logging_steps


def loss_inside_the_power(first_loss, logging_steps, accumulation_steps):
    # Right only for the loss it was tried with.
    growth = logged_in_closed_form(1.0, logging_steps, accumulation_steps)
    return 0.7 * growth


LOGGED = Exercise(
    id="03.2",
    name="LOGGED",
    title="Predict the number in the log",
    minutes=10,
    difficulty="one formula",
    points=4,
    reads="logged_loss",
    expects=(Callable,),
    hints=(
        "By which factor does one nan micro-batch multiply the accumulator in step 2? In step 3?",
        "global_step counts finished optimizer steps: in step s the factor is (s + 1) / s, and it "
        "is applied once for every micro-batch of that step.",
        "The product of (s + 1) / s for s = 2 ... N is (N + 1) / 2. Every factor comes G times, "
        "and at the end the Trainer divides by N.",
    ),
    criteria=(
        Criterion(
            "It agrees with the Trainer's accumulator for G = 1.",
            one_micro_batch,
            why="with one micro-batch a step the product telescopes, which is the heart of it",
            next="write down the accumulator after steps 1, 2 and 3 by hand",
        ),
        Criterion(
            "It agrees with the accumulator for any N and G.",
            any_window,
            why="the factor comes once for each micro-batch, the divisor counts optimizer steps",
            next="check N = 2, G = 2 by hand: 1 step healthy, then two factors of 3/2",
        ),
        Criterion(
            "Twice the first loss gives twice the logged number.",
            linear,
            why="only so can the first loss be read back from the log",
            next="the first loss enters once, as a factor",
        ),
    ),
    right=(logged_as_product, logged_in_closed_form),
    wrong=(
        Wrong(forgets_the_division, caught_by=one_micro_batch),
        Wrong(once_a_step, caught_by=any_window),
        Wrong(divides_by_micro_batches, caught_by=any_window),
        Wrong(starts_one_too_early, caught_by=one_micro_batch),
        Wrong(loss_inside_the_power, caught_by=linear),
    ),
)
