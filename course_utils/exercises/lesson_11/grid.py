"""Exercise 11.4: a weight of 4 bits that holds what the adapter learned."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from course_utils.checks.declare import Criterion, Exercise, not_tested
from course_utils.checks.settings import OverSeeds
from course_utils.reproductions.lesson_11 import four_bits, jobs
from course_utils.reproductions.lesson_11.adapter_life import right
from course_utils.reproductions.lesson_11.grid import BLOCK, LEVELS, onto_grid

SEEDS = (0, 1, 2)
AT_LEAST = 0.9
NEAR = 1e-3  # of a step, from a level of the grid: float32 rounds by less than 1e-5


class _Tried:
    """An answer, called on weights that were drawn, and on those of a trained job."""

    def __init__(self, four: Callable) -> None:
        self.drawn = [(case, four(*(one.clone() for one in case))) for case in _drawn()]
        self.models = OverSeeds(lambda seed: _model(four, seed), SEEDS, ahead=_train_all)
        self.is_a_weight = all(_fits(given, case[0]) for case, given in self.drawn)


def _drawn() -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    for seed, shape in enumerate(((128, 128), (64, 256), (512, 128))):
        draw = torch.Generator().manual_seed(seed)
        w16 = 0.1 * torch.randn(shape, generator=draw)
        yield w16, onto_grid(w16), 0.003 * torch.randn(shape, generator=draw)


def _fits(given: object, like: Tensor) -> bool:
    is_like = isinstance(given, Tensor) and given.shape == like.shape and given.dtype == like.dtype
    return is_like and bool(given.isfinite().all())


def _model(four: Callable, seed: int) -> nn.Module:
    return four_bits.served(jobs.run("C", seed).model, four)


def _train_all(seeds: tuple[int, ...]) -> None:
    jobs.run_all([("C", seed) for seed in seeds])


def is_a_weight(tried: _Tried) -> str | None:
    for case, given in tried.drawn:
        if not _fits(given, case[0]):
            like = f"{case[0].dtype} weights of shape {tuple(case[0].shape)}"
            return f"for {like} it returns {_described(given)}"
    return None


def _described(given: object) -> str:
    if not isinstance(given, Tensor):
        return f"a {type(given).__name__}"
    numbers = "" if given.isfinite().all() else " with numbers that are not finite"
    return f"a {given.dtype} tensor of shape {tuple(given.shape)}{numbers}"


def stands_on_the_grid(tried: _Tried) -> str | None:
    if not tried.is_a_weight:
        return not_tested("no weight was returned")
    for _, given in tried.drawn:
        blocks = given.reshape(-1, BLOCK)
        steps = blocks / (blocks.abs().amax(1, keepdim=True) / LEVELS).clamp(min=1e-12)
        off = (steps - steps.round()).abs()
        if off.max() > NEAR:
            return f"{(off > NEAR).float().mean():.0%} of its weights lie between two levels"
    return None


def knows_what_was_learned(tried: _Tried) -> str | None:
    if not tried.is_a_weight:
        return not_tested("no weight was returned")

    def is_right(model: nn.Module) -> str | None:
        share = right(model, jobs.JOBS["C"]["task"])
        return None if share >= AT_LEAST else f"{share:.0%} of the held-out sums are right"

    return tried.models.first_unmet(is_right)


def rounded_once(w16, w4, delta):
    return onto_grid(w16 + delta)


GRID = Exercise(
    id="11.4",
    name="GRID",
    title="Four bits that know",
    minutes=4,
    difficulty="one line",
    points=3,
    reads="four_bits_weight",
    expects=(Callable,),
    hints=(
        "How large is an ordinary change, in steps of the grid, and where do the weights of w4 "
        "stand before it is added?",
        "A weight that stands on a level needs a change of half a step to reach the next one. A "
        "weight that lies anywhere between two levels may need less. Which of the two tensors "
        "holds such weights?",
        "Round once, at the end: to the original weight add the change, then call onto_grid.",
    ),
    criteria=(
        Criterion(
            "It returns a finite weight, of the shape and dtype of w16.",
            is_a_weight,
            why="it replaces the weight of a layer",
            next="call your function on three tensors of shape (128, 128)",
        ),
        Criterion(
            "Each block of 64 weights stands on the levels of onto_grid.",
            stands_on_the_grid,
            why="what lies between two levels cannot be stored in 4 bits",
            next="what does onto_grid do to the tensor that you return? It should stay",
        ),
        Criterion(
            f"The served model is right on at least {AT_LEAST:.0%} of held-out sums, three seeds.",
            knows_what_was_learned,
            why="the adapter's change has to be there, once and whole",
            next="on how many weights, and by how much, does your function differ from w4?",
        ),
    ),
    answer=rounded_once,
    run=_Tried,
    time_limit_s=120.0,
)
