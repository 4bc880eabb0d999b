"""What differs between two gradients of the same rows: a factor, the weights of the rows, or more.

Pure arithmetic on gradients. N = weights.
"""

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import cosine_similarity

PARALLEL = 1 - 1e-6  # a cosine from which on only a factor is left
SAME, FACTOR, WEIGHTS, OTHER = "same", "factor", "weights", "other"
RANKS = "ranks"  # the weights are those of a mean over ranks, each over its own count


@dataclass(frozen=True)
class ComparedSplit:
    """One split, compared with the same rows in one micro-batch."""

    size: int  # rows in a micro-batch
    num_micro: int  # micro-batches of an optimizer step, on each rank
    num_ranks: int
    cosine: float
    ratio: float  # of norms
    distance: float  # |difference| / |gradient in one micro-batch|
    logged: float | None
    kind: str
    factor: float = 1.0  # what is left once the weights of the rows are taken out

    @property
    def name(self) -> str:
        ranks = f", {self.num_ranks} ranks" if self.num_ranks > 1 else ""
        return f"{self.size} x {self.num_micro}{ranks}"

    @property
    def factor_name(self) -> str:
        """The factor in words: "G", "1/G", "ranks", "1/ranks", "1", or the number itself."""
        g, ranks = self.num_micro, self.num_ranks
        known = {"1": 1, "G": g, "1/G": 1 / g, "ranks": ranks, "1/ranks": 1 / ranks}
        known |= {"G*ranks": g * ranks, "1/(G*ranks)": 1 / (g * ranks)}
        close = (n for n, value in known.items() if abs(self.factor / value - 1) < 2e-3)
        return next(close, f"{self.factor:.3g}")


def cosine(one_N: Tensor, other_N: Tensor) -> float:
    return float(cosine_similarity(one_N, other_N, dim=0))


def distance(one_N: Tensor, other_N: Tensor) -> float:
    """|one - other| / |other|; 0 where both are zero."""
    return float((one_N - other_N).norm() / other_N.norm().clamp(min=1e-300))


def judged(
    whole_N: Tensor, split_N: Tensor, means: dict[str, Tensor], tolerance: float
) -> tuple[str, float]:
    """How a split differs, and the factor that remains.

    Args:
        whole_N: the gradient with all rows in one micro-batch.
        split_N: that of the split.
        means: for WEIGHTS the mean of what each micro-batch of the split gives as a step of its
            own, for RANKS that of what the rows of each rank give; tried in this order.
    """
    if distance(split_N, whole_N) <= tolerance:
        return SAME, 1.0
    if cosine(split_N, whole_N) > PARALLEL - tolerance**2:
        return FACTOR, float(split_N.norm() / whole_N.norm())
    for kind, mean_N in means.items():
        if cosine(split_N, mean_N) > PARALLEL - tolerance**2:
            return kind, float(split_N.norm() / mean_N.norm())
    return OTHER, float(split_N.norm() / whole_N.norm())
