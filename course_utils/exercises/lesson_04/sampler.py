"""Exercise 04.1: the sampler of an inference engine, and what it makes of nan."""

from collections.abc import Callable

import torch

from course_utils.exercises.declare import Criterion, Exercise, Wrong

NAN = float("nan")


def _rows(num_rows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and exponential noise, (rows, 40 tokens), in float64 so that no rounding decides."""
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(num_rows, 40, generator=generator, dtype=torch.float64)
    noise = torch.empty_like(logits).exponential_(generator=generator)
    return logits, noise


def one_token_a_row(sample) -> str | None:
    got = sample(*_rows(7, 0))
    if not isinstance(got, torch.Tensor):
        return f"for 7 rows it gives a {type(got).__name__}, where a tensor is asked"
    if got.shape == (7,) and got.dtype == torch.int64:
        return None
    return f"for 7 rows it gives {got.dtype} of shape {tuple(got.shape)}, not int64 of shape (7,)"


def wins_the_race(sample) -> str | None:
    logits, noise = _rows(500, 1)
    want = (logits - noise.log()).argmax(dim=-1)  # the same race on a log scale
    wrong = int((sample(logits, noise) != want).sum())
    return f"{wrong} of 500 rows get another token than p / q gives" if wrong else None


def nan_is_token_zero(sample) -> str | None:
    logits, noise = _rows(50, 2)
    got = sample(torch.full_like(logits, NAN), noise)
    if bool((got == 0).all()):
        return None
    return f"50 rows of nan give the tokens {sorted(set(got.tolist()))[:5]}, an engine gives 0"


def sample_by_division(logits, noise):
    probs = torch.softmax(logits, dim=-1)
    return probs.div(noise).argmax(dim=-1)


def sample_by_logs(logits, noise):
    return (torch.log_softmax(logits, dim=-1) - torch.log(noise)).max(dim=-1).indices


def sample_greedily(logits, noise):
    return logits.argmax(dim=-1)


def sample_by_product(logits, noise):
    return (torch.softmax(logits, dim=-1) * noise).argmax(dim=-1)


def sample_over_the_batch(logits, noise):
    return torch.softmax(logits, dim=-1).div(noise).argmax()


def sample_with_kept_dimension(logits, noise):
    return torch.softmax(logits, dim=-1).div(noise).argmax(dim=-1, keepdim=True)


def sample_without_nan(logits, noise):
    return sample_by_division(logits.nan_to_num(), noise)


SAMPLER = Exercise(
    id="04.1",
    name="SAMPLER",
    title="Sample as an inference engine does",
    minutes=5,
    difficulty="a few lines",
    points=3,
    reads="sample",
    expects=(Callable,),
    hints=(
        "Which token has the largest p / q, if p are the probabilities and q the noise?",
        "Probabilities are a softmax over the last dimension; do not add or multiply the noise.",
        "softmax(logits, dim=-1), divided by noise, argmax(dim=-1): one number for each row.",
    ),
    criteria=(
        Criterion(
            "It gives one token for each row.",
            one_token_a_row,
            why="an engine samples many replies at once",
            next="name the dimension in argmax",
        ),
        Criterion(
            "It takes the token whose probability, divided by its noise, is largest.",
            wins_the_race,
            why="with exponential noise this draws each token with exactly its probability",
            next="divide the probabilities, not the logits, by the noise",
        ),
        Criterion(
            "A row of nan gives token 0, as in an engine.",
            nan_is_token_zero,
            why="argmax takes a nan for the largest value, and the first nan stands at index 0",
            next="leave nan alone: the engine does not look for it either",
        ),
    ),
    right=(sample_by_division, sample_by_logs),
    wrong=(
        Wrong(sample_over_the_batch, caught_by=one_token_a_row),
        Wrong(sample_with_kept_dimension, caught_by=one_token_a_row),
        Wrong(sample_greedily, caught_by=wins_the_race),
        Wrong(sample_by_product, caught_by=wins_the_race),
        Wrong(sample_without_nan, caught_by=nan_is_token_zero),
    ),
)
