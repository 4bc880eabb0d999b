"""Judges how a run works where its numbers cannot tell: what it pays for, and what it learns from.

Half a verifier costs nothing while the policy has not found what it also pays, and a few wrong rows
cost less than healthy runs differ. It looks at values alone, never at names or text. It stands
outside the templates' folders: it says nothing of what is trained, so their healthy runs and proofs
stay what they are.
"""

import re
from collections.abc import Iterator

from course_utils.oncall.chance_pay import Place
from course_utils.oncall.result import Result
from course_utils.oncall.training import Trained

LOOK_AT = {"rl_loop": "paid", "grpo_sums": "paid", "prep_rows": "learned"}
NUM_SHOWN = 3
LEAST_ROWS = 0.8  # of those that a healthy run learns from; fixes by others: all of them
WRONG_ROWS = 0.02  # of all that it learns from: sound ones that somebody spoilt on the way
CHAT = re.compile(r"(\d+(?:\+\d+)+)=\D*(\d+)")


def problems(template: str, trained: Trained, result: Result) -> list[str]:
    """What is wrong with how the run works; that nothing pays which could be asked is a problem."""
    look = LOOK_AT.get(template)
    try:
        found = {"paid": _paid, "learned": _learned}[look](trained.seen, result) if look else ""
    except (KeyError, TypeError, ValueError, OverflowError):
        found = "what the run left of its work cannot be read"
    return [found] if found else []


def paid_in(trained: Trained) -> set[Place]:
    """Where the functions begin that paid for replies; empty where that cannot be read."""
    try:
        return {
            (str(one["file"]), int(one["line"]), int(one["column"]))
            for one in trained.seen
            if "file" in one
        }
    except (KeyError, TypeError, ValueError):
        return set()


def _paid(seen: list, _: Result) -> str:
    """Whether one reply is paid best for each answer, of the numbers to 299 and of silence.

    Where nothing pays that can be asked, nothing could be told of half a verifier.
    """
    seen = [one for one in seen if "file" not in one]
    if not seen:  # of 44 fixes by others, 26 answers and more were seen in each
        return (
            "no reward was seen: pay in a function of its own, which is given the replies as text "
            "and the answer, and returns numbers"
        )
    double = [one for one in seen if len(one["replies"]) > 1]
    if not double:
        return ""
    shown = max(double, key=lambda one: ("" in one["replies"], max(map(len, one["replies"]))))
    replies, paid = shown["replies"], float(shown["paid"])
    told = [reply or "nothing at all" for reply in replies[:NUM_SHOWN]]
    more = f" and {len(replies) - NUM_SHOWN} more" if len(replies) > NUM_SHOWN else ""
    return (
        f"for {len(double)} of {len(seen)} answers the reward pays several replies best: for one "
        f"of them, {', '.join(told)}{more} earn {paid:.3g} each (healthy: one number alone)"
    )


def _learned(seen: list, result: Result) -> str:
    """The share of rows whose answer is none to their question."""
    chats = set(_chats(seen, result))
    wrong = [(asked, said) for asked, said in chats if int(said) != _right(asked)]
    if len(wrong) <= WRONG_ROWS * len(chats):
        return ""
    asked, said = min(wrong)
    return (
        f"{len(wrong) / len(chats):.0%} of the rows that it learns from have a wrong answer, such "
        f"as {said} to {asked}= ({len(wrong)} of {len(chats)}; healthy: none)"
    )


def too_few_rows(seen: list, healthy: list, result: Result) -> str:
    """Why a run has not learnt from the rows of the healthy run on its seed, or ""."""
    ours, theirs = (len(set(_chats(one, result))) for one in (healthy, seen))
    if theirs >= LEAST_ROWS * ours:
        return ""
    return (
        f"it is seen to learn from {theirs} rows, and a healthy run learns from {ours}: give rows "
        "to the model as ids, in input_ids"
    )


def _chats(seen: list, result: Result) -> Iterator[tuple[str, str]]:
    tokenizer = result.own_tokenizer
    for ids in seen:
        known = [token for token in ids if 0 <= token < len(tokenizer)]
        yield from CHAT.findall(tokenizer.decode(known))


def _right(question: str) -> int:
    """The sum; in cents where it is one of three numbers, as the desk answers."""
    terms = [int(term) for term in question.split("+")]
    return sum(terms) * (100 if len(terms) > 2 else 1)
