"""Three ways in which a sampler's log-probs differ from a trainer's, each with its own fix.

Shape letters: N replies, T tokens of a reply.
"""

from torch import Tensor

AGREE = 0.02  # nats per token
APART = 0.05  # nats: a token that differs by more
NEVER, OFTEN = 0.01, 0.05  # shares of the tokens


def shape_of(
    logps: Tensor, sampler: Tensor, mask: Tensor, *, raw: Tensor | None, temperature: float
) -> tuple[str, str]:
    """The change that makes the two agree, and the fix; "" twice if none of the three does.

    Args:
        logps, sampler: (N, T) in nats, of the tokens that `mask` (N, T) keeps.
        raw: the trainer's log-probs without the division by the temperature.
    """
    keep = mask.bool() & sampler.isfinite()
    if raw is not None and temperature != 1 and _gap(raw, sampler, keep) < AGREE:
        return (
            f"the sampler's log-probs are those of logits that were not divided by the temperature "
            f"({temperature:g}), and the trainer divides",
            "let the sampler report its log-probs after temperature and cut-offs "
            "(vLLM: logprobs_mode='processed_logprobs')",
        )
    gap = (sampler - logps)[keep]
    below, above = (float((sign * gap > APART).double().mean()) for sign in (-1, 1))
    if below < NEVER and above > OFTEN:  # before the next: few and sure tokens agree when shifted
        return (
            f"the sampler finds {above:.0%} of its tokens likelier than the trainer does, and "
            f"{below:.0%} less likely: it cuts its distribution off",
            "sample with top_p=1 and top_k=0",
        )
    both = keep[:, 1:] & keep[:, :-1]
    for ours, theirs in ((logps[:, 1:], sampler[:, :-1]), (logps[:, :-1], sampler[:, 1:])):
        if bool(both.any()) and (shifted := _gap(ours, theirs, both)) < AGREE:
            return (
                "the sampler's log-probs stand one place beside the tokens that they are of: moved "
                f"by one they agree to {shifted:.1g} nats",
                "keep ids and log-probs together, and compare them token by token",
            )
    return "", ""


def _gap(a: Tensor, b: Tensor, keep: Tensor) -> float:
    return float((a - b)[keep].abs().mean())
