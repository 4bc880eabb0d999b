"""A verifier of sums that rejects every listed cheat and accepts right answers in odd forms.

The right answer to exercise 10.3, and the judge of 10.6 and 10.8. It reads a reply as one claim:
one number, with words that may stand before it, and equations that have to be true.
"""

import re
import unicodedata
from fractions import Fraction

MARKED = re.compile(r"<answer>(.*?)</answer>|\\boxed\{([^{}]*)\}", re.S)
LEAD = r"(?:.*=|(?:the\s+)?(?:answer|sum|result)(?:\s+is)?\s*:?|it\s+is)?\s*"
CLAIM = re.compile(rf"(?is){LEAD}([+-]?[0-9]+(?:\.0+)?)\s*[.!]?")
LONGEST = 1000  # characters of a reply; Python refuses to read an integer of 4301 digits
SUM = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:\s*\+\s*[0-9]+(?:\.[0-9]+)?)*")


def is_the_sum(reply: str, gold: str) -> bool:
    """Whether a reply claims the right sum, and nothing else.

    Refused by choice: a number with a unit, and one that is followed by an explanation. No reply
    makes it raise; where `gold` is no number, no reply is right.

    >>> is_the_sum("76+26=102, then 102+90=192", "192"), is_the_sum("182 or 192", "192")
    (True, False)
    >>> is_the_sum("102+90=\\\\boxed{192}", "192"), is_the_sum("182 <answer>192</answer>", "192")
    (True, False)
    """
    if len(reply) > LONGEST or not CLAIM.fullmatch(gold):
        return False
    text = unicodedata.normalize("NFKC", reply).replace("\N{MINUS SIGN}", "-").strip()
    marked, around = MARKED.findall(text), MARKED.sub("", text)
    if len(marked) > 1:  # two answers are no answer
        return False
    if marked and not re.search("[0-9]", around):
        text = "".join(marked[0])
    else:  # a number outside the mark is read with the one in it
        text = MARKED.sub(lambda mark: mark[1] or mark[2] or "", text)
    text = text.strip("*$ \n")
    claim = CLAIM.fullmatch(text)
    if claim is None or not _chain_holds(text[: claim.start(1)] + claim[1]):
        return False
    return Fraction(claim[1]) == Fraction(CLAIM.fullmatch(gold)[1])


def _chain_holds(text: str) -> bool:
    """Whether every equation in it is true."""
    for part in re.split(r"[,;]|then|first", text) if "=" in text else ():
        sides = [side.strip() for side in part.split("=") if side.strip()]
        if not all(map(SUM.fullmatch, sides)):
            return False
        if len({sum(map(Fraction, side.split("+"))) for side in sides}) > 1:
            return False
    return True
