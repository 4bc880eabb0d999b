"""Three verifiers of sums as people write them; each can be cheated by a reply that adds nothing."""

import re


def occurs(reply: str, gold: str) -> float:
    """Visual-RFT#176, without its tags."""
    return float(gold in reply or reply in gold)


def is_among_the_numbers(reply: str, gold: str) -> float:
    """Visual-RFT#79: the right one of several will do."""
    return float(gold in re.findall(r"\d+", reply))


def is_near(reply: str, gold: str) -> float:
    """A tolerance for rounding, on whatever Python reads as a number."""
    try:
        off = abs(float(reply) - float(gold))
    except ValueError:
        return 0.0
    return 0.0 if off > 0.5 else 1.0


VERIFIERS = {"1": occurs, "2": is_among_the_numbers, "3": is_near}
