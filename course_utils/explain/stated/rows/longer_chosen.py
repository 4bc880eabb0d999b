"""Pairs whose chosen reply is nearly always the longer one, and replies that have grown."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import plain_number
from course_utils.explain.paste.log import Log

_COUNTED = re.compile(
    r"\bchosen\b.{0,25}?\b(?:more tokens|longer|more words|more characters)\b.{0,20}?"
    r"(?:(?P<some>\d[\d,]*) (?:of|/|out of) (?P<all>\d[\d,]*)|(?P<percent>\d{2}(?:\.\d+)?) ?%)",
    re.IGNORECASE,
)
_GROWN = re.compile(
    r"\b(?:not shut up|too long|scroll|verbose|wordy|rambl\w+|padded|longer (?:answers|replies)|"
    r"essays?|get to the point)\b",
    re.IGNORECASE,
)
MOST, SURE = 0.8, 8.6
LENGTH = (
    "the pairs teach length: the chosen reply is the longer one in {share:.0%} of them, so that "
    "being longer is what tells the two apart, and that is what is learnt. Loss, margin and "
    "accuracy do not show it, nor does a judge that likes length as well"
)
BALANCE = (
    "balance the pairs by length (drop or pair them so that the chosen one is shorter as often), "
    "or take a loss that is normalised by it (SimPO, LD-DPO, a length penalty); ask a judge that "
    "controls for length, and train again. Beta, rank and temperature do not mend it"
)


def chosen_is_longer(beside: Beside, log: Log) -> Iterator[Finding]:
    """How often the chosen reply is longer, as it was counted, and words of long replies."""
    found, grown = beside.first(_COUNTED), beside.matching(_GROWN)
    if not found or not grown:
        return
    line, m = found
    whole = plain_number(m["all"]) if m["all"] else 100.0
    share = (plain_number(m["some"]) if m["some"] else float(m["percent"])) / max(whole, 1)
    if MOST <= share <= 1:
        proof = (line.says, grown[0].says)
        why = LENGTH.format(share=share)
        yield Finding("length_tells", SURE, line, proof, why=why, advice=BALANCE)
