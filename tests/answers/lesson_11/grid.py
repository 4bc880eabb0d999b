"""Right and wrong answers of exercise 11.4."""

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


# --- a second set -------------------------------------------------------------------------------


def _blocks(weight, levels=LEVELS):
    """The weights in blocks, in steps of the block's own grid, and the steps."""
    blocks = weight.reshape(-1, BLOCK)
    step = blocks.abs().amax(1, keepdim=True) / levels
    return blocks / step, step


@right
def by_chance_from_w4(w16, w4, delta):
    """No original: rounding by chance keeps a change below half a step on average."""
    draw = torch.Generator().manual_seed(0)
    steps, step = _blocks(w4 + delta)
    levels = (steps + torch.rand(steps.shape, generator=draw)).floor()
    return (levels.clamp(-LEVELS, LEVELS) * step).reshape(w4.shape)


@right
def the_error_goes_to_the_next_weight(w16, w4, delta):
    """No original either: what one rounding loses is added to its neighbour."""
    steps, step = _blocks(w4 + delta)
    rest, levels = torch.zeros(len(steps)), []
    for column in steps.T:
        levels.append((column + rest).round().clamp(-LEVELS, LEVELS))
        rest = column + rest - levels[-1]
    return (torch.stack(levels, 1) * step).reshape(w4.shape)


@right
def with_the_best_of_four_scales(w16, w4, delta):
    """A clipped block has smaller steps."""
    whole = (w16 + delta).reshape(-1, BLOCK)
    tries = []
    for cut in (1.0, 0.95, 0.9, 0.85):
        step = cut * whole.abs().amax(1, keepdim=True) / LEVELS
        tries.append((whole / step).round().clamp(-LEVELS, LEVELS) * step)
    errors = torch.stack([(one - whole).square().sum(1) for one in tries])
    best = errors.argmin(0)
    return torch.stack(tries)[best, torch.arange(len(whole))].reshape(w16.shape)


@right
def in_float64(w16, w4, delta):
    return torch.nn.Parameter(onto_grid(w16.double() + delta.double()).float())


@wrong(caught_by=grid.is_a_weight)
def in_bfloat16(w16, w4, delta):
    return onto_grid(w16 + delta).bfloat16()


@wrong(caught_by=grid.is_a_weight)
def nothing_returned(w16, w4, delta):
    onto_grid(w16 + delta)


@wrong(caught_by=grid.stands_on_the_grid)
def one_scale_for_all(w16, w4, delta):
    whole = w16 + delta
    step = whole.abs().max() / LEVELS
    return (whole / step).round() * step


@wrong(caught_by=grid.stands_on_the_grid)
def one_scale_per_row(w16, w4, delta):
    whole = w16 + delta
    step = whole.abs().amax(1, keepdim=True) / LEVELS
    return (whole / step).round() * step


@wrong(caught_by=grid.stands_on_the_grid)
def five_bits(w16, w4, delta):
    steps, step = _blocks(w16 + delta, 2 * LEVELS + 1)
    return (steps.round() * step).reshape(w16.shape)


@wrong(caught_by=grid.stands_on_the_grid)
def eight_bits(w16, w4, delta):
    steps, step = _blocks(w16 + delta, 127)
    return (steps.round() * step).reshape(w16.shape)


@wrong(caught_by=grid.knows_what_was_learned)
def the_levels_without_their_scale(w16, w4, delta):
    steps, _ = _blocks(w16 + delta)
    return steps.round().reshape(w16.shape)


@wrong(caught_by=grid.knows_what_was_learned)
def a_whole_step_each(w16, w4, delta):
    """Every weight moves by a level, in the direction of its change, but for a block's largest."""
    steps, step = _blocks(w4)
    steps = steps.round()
    moved = (steps + delta.reshape(-1, BLOCK).sign()).clamp(-LEVELS, LEVELS)
    return (moved.where(steps.abs() < LEVELS, steps) * step).reshape(w4.shape)


@wrong(caught_by=grid.knows_what_was_learned)
def a_change_that_is_large_enough(w16, w4, delta):
    return onto_grid(w4 + 10 * delta)


@wrong(caught_by=grid.knows_what_was_learned)
def both_rounded(w16, w4, delta):
    return onto_grid(w4 + onto_grid(delta))


@wrong(caught_by=grid.knows_what_was_learned)
def half_of_the_way_back(w16, w4, delta):
    return onto_grid((w16 + w4) / 2 + onto_grid(delta))
