"""Three verifiers of sums as people write them; each pays a reply that adds nothing."""

import re


def occurs(reply: str, gold: str) -> float:
    """Visual-RFT#176, without its tags."""
    return float(gold in reply or reply in gold)


def is_among_the_numbers(reply: str, gold: str) -> float:
    """Visual-RFT#79, without its tags."""
    return float(gold in re.findall(r"\d+", reply))


def is_near(reply: str, gold: str) -> float:
    """A tolerance for rounding."""
    try:
        off = abs(float(reply) - float(gold))
    except ValueError:
        return 0.0
    return 0.0 if off > 0.5 else 1.0


VERIFIERS = {"1": occurs, "2": is_among_the_numbers, "3": is_near}

# Replies to 76+26+90=, whose answer is 192: none of the first list is right, all of the second are.
CHEATS = (
    "",
    "1",
    "92",
    "182 or 192 or 202",
    "190 191 192 193 194",
    "192 is wrong, the answer is 182",
    "0192192",
    "I cannot tell (not 192)",
    "<answer>192</answer><answer>182</answer>",
    "\\boxed{182}\\boxed{192}",
    "182 ... 192",
    "-192",
    "192.5",
    "1e192",
    "76+26+90=182+10=192+0=182",
)
ODD_BUT_RIGHT = (
    "192",
    "192\n",
    "192.",
    "= 192",
    "The sum is 192.",
    "Answer: 192",
    "76+26+90=192",
    "76+26=102, then 102+90=192",
    "192.0",
    "+192",
    "0192",
    "**192**",
    "\\boxed{192}",
    "<answer> 192 </answer>",
    "\uff11\uff19\uff12",
)
