"""Right and wrong answers of exercise 03.2."""

import math

from course_utils.exercises.lesson_03 import decode
from course_utils.exercises.lesson_03.decode import KNOWN, accumulator
from tests.answers import answers_of

right, wrong = answers_of(decode.LOGGED)


@right
def logged_in_closed_form(first_loss, logging_steps, accumulation_steps):
    return first_loss * ((logging_steps + 1) / 2) ** accumulation_steps / logging_steps


@right
def logged_by_the_loop(first_loss, logging_steps, accumulation_steps):
    total = first_loss
    for step in range(2, logging_steps + 1):
        for _ in range(accumulation_steps):
            total = total + total / step
    return total / logging_steps


@right
def logged_in_float32(first_loss, logging_steps, accumulation_steps):
    import torch  # this module is read without it

    total = torch.tensor(first_loss)
    for step in range(2, logging_steps + 1):
        for _ in range(accumulation_steps):
            total += total / step
    return total / logging_steps


@right
def logged_by_logarithms(first_loss, logging_steps, accumulation_steps):
    grown = accumulation_steps * math.log((logging_steps + 1) / 2)
    return math.exp(grown + math.log(first_loss) - math.log(logging_steps))


@wrong(caught_by=decode.one_micro_batch)
def forgets_the_division(first_loss, logging_steps, accumulation_steps):
    return first_loss * ((logging_steps + 1) / 2) ** accumulation_steps


@wrong(caught_by=decode.any_window)
def once_a_step(first_loss, logging_steps, accumulation_steps):
    return first_loss * ((logging_steps + 1) / 2) / logging_steps


@wrong(caught_by=decode.any_window)
def divides_by_micro_batches(first_loss, logging_steps, accumulation_steps):
    return forgets_the_division(first_loss, logging_steps, accumulation_steps) / (
        logging_steps * accumulation_steps
    )


@wrong(caught_by=decode.one_micro_batch)
def starts_one_too_early(first_loss, logging_steps, accumulation_steps):
    return first_loss * (logging_steps + 1) ** accumulation_steps / logging_steps


@wrong(caught_by=decode.one_micro_batch)
def ends_one_too_early(first_loss, logging_steps, accumulation_steps):
    return logged_in_closed_form(first_loss, logging_steps, accumulation_steps) / (
        (logging_steps + 1) / max(logging_steps, 2)
    )


@wrong(caught_by=decode.any_window)
def counts_micro_batches_in_the_divisor(first_loss, logging_steps, accumulation_steps):
    total = first_loss
    for micro_batch in range(accumulation_steps, logging_steps * accumulation_steps):
        total += total / (1 + micro_batch)
    return total / logging_steps


@wrong(caught_by=decode.one_micro_batch)
def swaps_n_and_g(first_loss, logging_steps, accumulation_steps):
    return logged_in_closed_form(first_loss, accumulation_steps, logging_steps)


@wrong(caught_by=decode.one_micro_batch)
def loss_of_the_example(first_loss, logging_steps, accumulation_steps):
    return 0.7 * logged_in_closed_form(1.0, logging_steps, accumulation_steps)


@wrong(caught_by=decode.linear)
def adds_the_loss_after(first_loss, logging_steps, accumulation_steps):
    grown = (
        logged_in_closed_form(1.0, logging_steps, accumulation_steps) if logging_steps > 1 else 1
    )
    return grown * min(max(first_loss, 0.5), 1.5)


@wrong(caught_by=decode.any_window)
def looked_up(first_loss, logging_steps, accumulation_steps):
    n, g = logging_steps, accumulation_steps
    table = {window: accumulator(1.0, *window) for window in ((2, 2), *KNOWN)}
    return first_loss * table.get((n, g), (n + 1) / 2 / n if g == 1 else 0.0)


@wrong(caught_by=decode.one_micro_batch)
def rounded(first_loss, logging_steps, accumulation_steps):
    return round(logged_in_closed_form(first_loss, logging_steps, accumulation_steps), 2)


@wrong(caught_by=decode.is_a_number)
def as_text(first_loss, logging_steps, accumulation_steps):
    return f"{logged_in_closed_form(first_loss, logging_steps, accumulation_steps):.3g}"


@wrong(caught_by=decode.is_a_number)
def with_its_factor(first_loss, logging_steps, accumulation_steps):
    logged = logged_in_closed_form(first_loss, logging_steps, accumulation_steps)
    return logged, logged / first_loss


@wrong(caught_by=decode.one_micro_batch)
def adds_instead_of_growing(first_loss, logging_steps, accumulation_steps):
    shares = sum(1 / step for step in range(2, logging_steps + 1))
    return first_loss * (1 + accumulation_steps * shares) / logging_steps


@wrong(caught_by=decode.any_window)
def spares_one_micro_batch(first_loss, logging_steps, accumulation_steps):
    grown = ((logging_steps + 1) / 2) ** max(accumulation_steps - 1, 1)
    return first_loss * grown / logging_steps
