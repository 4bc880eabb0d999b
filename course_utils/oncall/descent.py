"""Judges whether a run's weights descend from its own base through training, by tensors alone.

Each base is one checkpoint with noise of its own, drawn by a seed (`bases.py`). No loss knows that
noise, so training leaves it in the weights, however far they move. The checkpoint behind the bases,
a teacher beside one, and what another base was trained into have none of it. Weights that are
written by hand or drawn have not moved as an optimizer moves them: most matrices a little, each
mainly in one direction, tables and biases hardly. And gradients have directions that nobody knows
who has not trained: on a seed, a mended run moves the matrices as the healthy run does.
"""

from functools import cache
from statistics import median

import torch
from safetensors.torch import load, save
from torch import Tensor
from torch.nn.functional import cosine_similarity

from course_utils.oncall import templates
from course_utils.oncall.result import MODEL, NothingMade, Result

OTHERS = (-1, -2, -3, -4)  # seeds of bases that no run starts from
# Of 42 healthy runs, three of each template: 0.997 to 1.013 of the noise is left, 67 % to all of
# the matrices have moved, the main direction of half of them has at least 0.28 of their move (of
# drawn moves: 0.03), and no other value has moved by more than 0.04, or is above 0.1 in a new head.
LEAST, MOST = 0.85, 1.15
LEAST_MOVED, LEAST_MAIN, FURTHEST = 0.12, 0.08, 0.25  # one of the seven layers of a block: 0.14
# Beside a healthy run on the same seed: moves of the matrices have a median cosine of 0.24 to 1
# with its moves in fixes by others (most train just as ours), of 0.085 in one that writes its rows
# otherwise, of 0.38 where all draws are others, of 0.02 at most where they are drawn. Behind a head
# that is drawn anew, directions depend on that draw. Fixes move all tensors but one by a tenth of
# the healthy move or more, and go 0.6 to 2.4 times as far in the median; one matrix goes 8.3 times
# as far, tables and norms 1.6 times. Saving in bfloat16 moves those by 0.002 of their norm.
LEAST_SHARE, LEAST_OF_ONE, LEAST_ALIKE, FREE = 0.6, 0.1, 0.04, 0.01
LEAST_SIZE, MOST_SIZE, MOST_OF_ONE, MOST_OF_TABLES = 0.2, 3.5, 12.0, 5.0
TABLE, HEAD = "model.embed_tokens.weight", "lm_head.weight"
# Of all experts, in a file that no save_pretrained wrote.
BOTH_HALVES, ALL_DOWN = ".experts.gate_up_proj", ".experts.down_proj"
Weights = dict[str, Tensor]


def check(template: str, result: Result) -> None:
    """Look for the base's noise in the matrices of the blocks, and at how the weights have moved.

    Raises:
        NothingMade: it is not what training the base leaves.
    """
    centre, weights = _centre(template), _by_expert(result.weights)
    start = {name: weight.float() for name, weight in result.start.items()}
    start |= {HEAD: start[TABLE]} if HEAD in weights and HEAD not in start else {}
    is_alike = all(w.shape == start[name].shape for name, w in weights.items() if name in start)
    if centre.keys() - weights.keys() or not is_alike:
        raise NothingMade(f"the tensors of {MODEL} are not those of the base's architecture")
    left = _share_left(weights, start, centre)
    if left < LEAST or left > MOST:  # nan is neither, and is told later
        raise NothingMade(
            f"the weights of {MODEL} do not descend from base/: {left:.0%} of what sets this base "
            "apart from others is left in them (healthy: 100%), and training does not change that"
        )
    _look_at_matrices([weights[name] - start[name] for name in centre])
    for name in weights.keys() - centre.keys():  # a new head starts near 0
        _look_at_move(name, weights[name] - start.get(name, torch.tensor(0.0)))


def check_way(result: Result, healthy: Result) -> None:
    """Look whether weights have moved as the healthy run on the same seed moved them.

    Raises:
        NothingMade: they have moved elsewhere, or much further or less far.
    """
    ours, theirs = _moves(healthy), _moves(result)
    times = {
        name: (theirs[name].norm() / move.norm()).item()
        for name, move in ours.items()
        if move.any()
    }
    matrices = [name for name in times if _is_matrix(name, ours[name])]
    size = median(times[name] for name in matrices)
    if not LEAST_SIZE <= size <= MOST_SIZE:  # nan is neither
        raise NothingMade(
            f"the weights of {MODEL} have moved {size:.2g} times as far as a healthy run moves them"
        )
    moved = sum(one >= LEAST_OF_ONE for one in times.values())
    if moved < LEAST_SHARE * len(times):
        raise NothingMade(
            f"{moved} of {len(times)} tensors of {MODEL} that training moves have moved"
        )
    for name, one in times.items():
        is_small = theirs[name].norm() < FREE * healthy.start[name].float().norm()
        if one > (MOST_OF_ONE if name in matrices else MOST_OF_TABLES) and not is_small:
            raise NothingMade(
                f"{name} of {MODEL} has moved {one:.2g} times as far as a healthy run moves it"
            )
    alike = median(
        cosine_similarity(theirs[name].flatten(), ours[name].flatten(), dim=0).item()
        for name in matrices
    )
    if not (alike >= LEAST_ALIKE or _has_new_head(healthy)):
        raise NothingMade(
            f"the weights of {MODEL} have not moved as training on these data moves them (cosine "
            f"{alike:.2f} with a healthy run, and at least {LEAST_ALIKE} is asked)"
        )


def put_back(result: Result) -> Result:
    """The result with the matrices of the blocks as they were in base/."""
    start = result.start
    weights = {
        name: start[name].float().clone() if name in start and _is_matrix(name, weight) else weight
        for name, weight in _by_expert(result.weights).items()
        if not name.endswith((BOTH_HALVES, ALL_DOWN))
    }
    whole = {name: weight.contiguous() for name, weight in weights.items()}
    made = save(whole, {"format": "pt"})
    return Result(result.files | {f"{MODEL}/model.safetensors": made}, result.base)


def _moves(result: Result) -> Weights:
    """How far each tensor of base/ has moved from it."""
    weights = _by_expert(result.weights)
    return {
        name: weights[name] - start.float()
        for name, start in result.start.items()
        if name in weights
    }


def _has_new_head(result: Result) -> bool:
    """Whether the run has drawn a head that base/ has not."""
    names = result.weights.keys() - result.start.keys() - {HEAD}
    return any(".experts." not in name for name in names)


def _is_matrix(name: str, weight: Tensor) -> bool:
    return weight.dim() == 2 and name != TABLE


def _look_at_matrices(moves: list[Tensor]) -> None:
    moved = [move for move in moves if move.any()]
    if len(moved) < LEAST_MOVED * len(moves):
        raise NothingMade(
            f"{len(moved)} of {len(moves)} matrices in the blocks of {MODEL} have moved, and the "
            "others are those of base/"
        )
    main = torch.tensor([_main_share(move) for move in moved if min(move.shape) > 8]).median()
    if main < LEAST_MAIN:
        raise NothingMade(
            f"the weights of {MODEL} have moved in no direction: the main one has {main:.0%} of "
            "each move, as in drawn numbers"
        )


def _look_at_move(name: str, move: Tensor) -> None:
    furthest = move.abs().max().item()
    if furthest > FURTHEST:
        raise NothingMade(
            f"{name} of {MODEL} has moved by {furthest:.2g} from base/, further than training goes "
            f"(healthy: at most {FURTHEST})"
        )


def _main_share(move: Tensor, times: int = 8) -> float:
    """The share of its main direction in a matrix's square, from below, by power iteration."""
    generator = torch.Generator().manual_seed(0)
    found = torch.randn(move.shape[1], generator=generator)
    for _ in range(times):
        found = move.T @ (move @ found)
        found = found / found.norm()
    return ((move @ found).square().sum() / move.square().sum()).item()


def _share_left(weights: Weights, start: Weights, centre: Weights) -> float:
    """The share of the base's own noise that the weights have: 1 when they are the base's."""
    both = own = 0.0
    for name, middle in centre.items():
        noise = start[name] - middle
        both += float(((weights[name] - middle) * noise).sum())
        own += float((noise * noise).sum())
    return both / own


@cache
def _centre(template: str) -> Weights:
    """The mean matrices of the blocks of other bases; a base less these is its own noise."""
    bases = [load(templates.load(template).base(seed)["model.safetensors"]) for seed in OTHERS]
    names = [name for name, one in bases[0].items() if one.dim() == 2 and "embed" not in name]
    return {name: sum(base[name].float() for base in bases) / len(bases) for name in names}


def _by_expert(weights: Weights) -> Weights:
    """The weights with each expert's matrices under names of their own."""
    found = dict(weights)
    for name in [name for name in weights if name.endswith(BOTH_HALVES)]:
        block = name.removesuffix(".gate_up_proj")
        for number, both in enumerate(weights[name]):
            gate, up = both.chunk(2)
            found |= {f"{block}.{number}.gate_proj.weight": gate}
            found |= {f"{block}.{number}.up_proj.weight": up}
        for number, down in enumerate(weights.get(f"{block}.down_proj", ())):
            found[f"{block}.{number}.down_proj.weight"] = down
    return found
