"""Right and wrong answers of exercise 11.3."""

import torch

from course_utils.checks.checking import leaves_its_inputs_alone
from course_utils.exercises.lesson_11 import grid
from course_utils.reproductions.lesson_11.grid import BLOCK, LEVELS, onto_grid
from tests.answers import answers_of

right, wrong = answers_of(grid.GRID)


@right
def without_w4(w16, w4, delta):
    """The rounding, written out."""
    blocks = (w16 + delta).view(-1, BLOCK)
    step = blocks.abs().max(1, keepdim=True).values / LEVELS
    return torch.round(blocks / step).mul(step).view_as(w16)


@right
def what_rounding_lost_comes_back(w16, w4, delta):
    lost = w16 - w4
    return onto_grid(w4 + lost + delta)


@right
def by_chance(w16, w4, delta):
    """Rounds up or down by chance, so that a change below half a step is kept on average."""
    blocks = (w16 + delta).reshape(-1, BLOCK)
    step = blocks.abs().amax(1, keepdim=True) / LEVELS
    draw = torch.Generator().manual_seed(0)
    levels = (blocks / step + 0.2 * (torch.rand(blocks.shape, generator=draw) - 0.5)).round()
    return (levels.clamp(-LEVELS, LEVELS) * step).reshape(w16.shape)


@wrong(caught_by=grid.is_a_weight)
def the_blocks(w16, w4, delta):
    return onto_grid(w16 + delta).reshape(-1, BLOCK)


@wrong(caught_by=grid.is_a_weight)
def in_half_precision(w16, w4, delta):
    return onto_grid(w16 + delta).half()


@wrong(caught_by=grid.is_a_weight)
def as_a_list(w16, w4, delta):
    return onto_grid(w16 + delta).tolist()


@wrong(caught_by=grid.stands_on_the_grid)
def sixteen_bits(w16, w4, delta):
    return w16 + delta


@wrong(caught_by=grid.stands_on_the_grid)
def beside_the_grid(w16, w4, delta):
    return w4 + delta


@wrong(caught_by=grid.stands_on_the_grid)
def two_grids(w16, w4, delta):
    return w4 + onto_grid(delta)


@wrong(caught_by=grid.stands_on_the_grid)
def rounded_before(w16, w4, delta):
    return onto_grid(w16) + delta


@wrong(caught_by=grid.knows_what_was_learned)
def rounded_twice(w16, w4, delta):
    return onto_grid(w4 + delta)


@wrong(caught_by=grid.knows_what_was_learned)
def rounded_on_the_way(w16, w4, delta):
    return onto_grid(onto_grid(w16) + delta)


@wrong(caught_by=grid.knows_what_was_learned)
def the_base_alone(w16, w4, delta):
    return w4


@wrong(caught_by=grid.knows_what_was_learned)
def subtracted(w16, w4, delta):
    return onto_grid(w16 - delta)


@wrong(caught_by=grid.knows_what_was_learned)
def twice_the_change(w16, w4, delta):
    return onto_grid(w16 + 2 * delta)


@wrong(caught_by=leaves_its_inputs_alone)
def in_place(w16, w4, delta):
    return onto_grid(w16.add_(delta))
