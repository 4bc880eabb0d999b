"""Exercise 04.1: the sampler of an inference engine, and what it makes of nan."""

from collections.abc import Callable

import torch

from course_utils.checks.declare import Criterion, Exercise

NAN = float("nan")
SIZES = ((500, 40), (1, 40), (37, 5), (3, 1), (200, 320), (8, 50_000))  # (rows, tokens)


def _draw(num_rows: int, num_tokens: int, dtype=torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and exponential noise, (rows, tokens); in float64 no rounding decides a race."""
    generator = torch.Generator().manual_seed(num_rows)
    logits = 3 * torch.randn(num_rows, num_tokens, generator=generator, dtype=torch.float64)
    noise = torch.empty_like(logits).exponential_(generator=generator)
    return logits.to(dtype), noise.to(dtype)


def gives_a_tensor_of_ids(sample) -> str | None:
    got = sample(*_draw(7, 40))
    if not isinstance(got, torch.Tensor):
        return f"for 7 rows it gives a {type(got).__name__}, where a tensor is asked for"
    if got.dtype not in (torch.int64, torch.int32):
        return f"for 7 rows it gives {got.dtype}, where token ids are asked for"
    if got.shape == (7,) or got.dim() == 0:
        return None
    return f"for 7 rows the shape is {tuple(got.shape)}, where (7,) is asked for"


def one_token_a_row(sample) -> str | None:
    for size in SIZES:
        got = sample(*_draw(*size))
        if got.shape != size[:1]:
            return f"for logits of shape {size} it gives shape {tuple(got.shape)}, not ({size[0]},)"
    return None


def wins_the_race(sample) -> str | None:
    for size in SIZES:
        logits, noise = _draw(*size)
        got = sample(logits, noise)
        want = (logits - noise.log()).argmax(dim=-1)  # the same race on a log scale
        wrong = int((got != want).sum()) if got.shape == want.shape else len(want)
        if wrong:
            return f"{wrong} of {len(want)} rows get another token than p / noise gives"
    return None


def wins_far_from_zero(sample) -> str | None:
    apart = torch.linspace(-1000, 1000, 50).view(-1, 1)
    for shift, name in (
        (1000.0, "+1000"),
        (-1000.0, "-1000"),
        (apart, "-1000 to 1000 by row"),
    ):
        logits, noise = _draw(50, 40, torch.float32)
        got, want = sample(logits + shift, noise), (logits - noise.log()).argmax(dim=-1)
        agree = int((got == want).sum()) if got.shape == want.shape else 0
        if agree < 48:  # a near tie may fall the other way in float32
            return f"with {name} on every logit {50 - agree} of 50 rows get another token"
    return None


def nan_is_token_zero(sample) -> str | None:
    for num_rows, num_tokens in SIZES:
        logits, noise = _draw(num_rows, num_tokens, torch.float32)
        got = sample(torch.full_like(logits, NAN), noise)
        if not bool((got == 0).all()):
            return f"{num_rows} rows of nan give the tokens {sorted(set(got.tolist()))[:5]}, not 0"
    return None


def a_nan_stays_in_its_row(sample) -> str | None:
    for size in SIZES:
        logits, noise = _draw(*size)
        is_dead = torch.arange(size[0]) % 3 == 0
        want = (logits - noise.log()).argmax(dim=-1).masked_fill(is_dead, 0)
        got = sample(logits.masked_fill(is_dead[:, None], NAN), noise)
        wrong = int((got != want).sum())
        if wrong:
            return f"{int(is_dead.sum())} of {size[0]} rows are nan, and {wrong} tokens are wrong"
    return None


def sample_by_division(logits, noise):
    probs = torch.softmax(logits, dim=-1)
    return probs.div(noise).argmax(dim=-1)


SAMPLER = Exercise(
    id="04.1",
    name="SAMPLER",
    title="Sample as an inference engine does",
    minutes=5,
    difficulty="a few lines",
    points=3,
    reads="sample",
    expects=(Callable,),
    form=gives_a_tensor_of_ids,
    hints=(
        "Which token has the largest p / noise, if p are the probabilities?",
        "Probabilities are a softmax over the last dimension; divide them by the noise.",
        "The quotient has the shape of the logits; of each of its rows you want the index of the "
        "largest number.",
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
            next="divide the probabilities of each row by the noise, and take the largest",
        ),
        Criterion(
            "A constant added to all logits, or to those of one row, changes nothing.",
            wins_far_from_zero,
            why="probabilities depend on the differences of logits; exp(1000) is inf",
            next="torch.softmax subtracts the largest logit before exp",
        ),
        Criterion(
            "A row of nan gives token 0, as in an engine.",
            nan_is_token_zero,
            why="argmax takes a nan for the largest value, and the first nan stands at index 0",
            next="do not treat nan specially: the engine does not look for it either",
        ),
        Criterion(
            "A row of nan changes no token of another row.",
            a_nan_stays_in_its_row,
            why="rows are different replies; one row must not affect another",
            next="keep every operation within its row: dim=-1, and no test over all rows",
        ),
    ),
    answer=sample_by_division,
)
