"""What alone tells chosen from rejected in all pairs: how they begin, their form, length or end."""

import re
from collections import Counter
from collections.abc import Sized
from statistics import median
from typing import Any

from course_utils.diagnostics.diagnosis.measures.data_sets import column, columns_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet

FEWEST = 32  # pairs, below which nothing is said
GAP = 2  # tokens, in every pair
NEARLY_ALL, VARIED = 0.95, 3  # of one side's last tokens; kinds of the other's
NEAR_A_COIN = 0.6  # of the pairs
ENOUGH = 400  # pairs that are read as text
BEGINNING, MANY = 4, 16  # tokens of a text; different beginnings, as prompts have
FORMS = {
    "capital letters": re.compile(r"[A-Z]"),
    "marks between their words": re.compile(r"[.,;:!?]"),
}
SIDES = (
    ("chosen_ids", "rejected_ids"),
    ("chosen_input_ids", "rejected_input_ids"),
    ("chosen", "rejected"),
)


def look_at_what_tells_them(data: Any, tokenizer: Any, sheet: Sheet, *, is_scored: bool) -> None:
    """The first of these that tells both sides apart, and their ends.

    A model that gives scores learns it; a policy may have other grounds for it.
    """
    is_told = is_scored and (
        look_at_beginnings(data, sheet) or look_at_forms(data, tokenizer, sheet)
    )
    if not is_told:
        look_at_lengths(data, sheet)
    look_at_ends(data, tokenizer, sheet, is_scored=is_scored)


def sides_of(data: Any) -> list[list]:
    """The ids of the chosen and of the rejected texts; [] where no column has them."""
    known = [pair for pair in SIDES[:2] if set(pair) <= set(columns_of(data))]
    return [column(data, name) for name in known[0]] if known else []


def look_at_beginnings(data: Any, sheet: Sheet) -> bool:
    """Whether all texts of one side begin alike, and those of the other do not: a prompt is in
    front of one of them alone."""
    sides = sides_of(data)
    if not sides or len(sides[0]) < FEWEST:
        return False
    begins = [len({tuple(row[:BEGINNING]) for row in side}) for side in sides]
    if min(begins) > 1 or max(begins) < MANY:
        return False
    bare, other = ("chosen", "rejected") if begins[0] == 1 else ("rejected", "chosen")
    sheet.find(
        "pair_prompts_differ",
        COUNTED,
        f"all {len(sides[0])} {bare} texts begin with the same {BEGINNING} tokens, and the {other} "
        f"ones with {max(begins)} different ones",
        place=f"train_dataset, {bare}",
        why="the beginning alone tells chosen from rejected, as where a prompt stands in front of "
        "one of them alone: a reward model learns to score it, and nothing of the replies",
        advice="put the same prompt in front of both replies, and train again",
    )
    return True


def look_at_forms(data: Any, tokenizer: Any, sheet: Sheet) -> bool:
    """Whether one side of the pairs alone has capital letters, or marks between words: it was
    cleaned, and the other was not."""
    sides = sides_of(data)
    if not sides or tokenizer is None or len(sides[0]) < FEWEST:
        return False
    replies = [_apart(list(a), list(b)) for a, b in list(zip(*sides, strict=True))[:ENOUGH]]
    texts = [[tokenizer.decode(pair[side]) for pair in replies] for side in (0, 1)]
    for what, has in FORMS.items():
        parts = [sum(bool(has.search(text)) for text in side) / len(side) for side in texts]
        if min(parts) > 0 or max(parts) < NEARLY_ALL:
            continue
        with_it, without = ("chosen", "rejected") if parts[0] else ("rejected", "chosen")
        sheet.find(
            "form_tells",
            COUNTED,
            f"{max(parts):.0%} of {len(replies)} {with_it} replies have {what}, and no {without} "
            "one has",
            place="train_dataset, chosen and rejected",
        )
        return True
    return False


def _apart(one: list[int], other: list[int]) -> tuple[list[int], list[int]]:
    """Two replies without the beginning that they share."""
    shared = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    return one[shared:], other[shared:]


def look_at_lengths(data: Any, sheet: Sheet) -> None:
    """Pairs in each of which the same side is the longer one: a count of tokens solves them.

    That is a doubt: a model may learn more than that. `look_at_one_length` asks it, once it has.
    """
    sides = sides_of(data)
    if not sides or len(sides[0]) < FEWEST or not all(isinstance(s[0], Sized) for s in sides):
        return
    said = told_by_length(sides)
    if said:
        sheet.doubt(f"{said}: their length alone tells them apart")
        return
    more = [len(a) - len(b) for a, b in zip(*sides, strict=True)]
    longer = sum(one >= GAP for one in more), sum(one <= -GAP for one in more)
    said = f"chosen is longer in {longer[0]} of {len(more)} pairs, shorter in {longer[1]}"
    sheet.show("lengths of the pairs", said)


def told_by_length(sides: list[list]) -> str:
    """Which side is the longer one in all pairs, and by how much; "" where none is."""
    more = [len(a) - len(b) for a, b in zip(*sides, strict=True)]
    for side, sign in (("chosen", 1), ("rejected", -1)):
        if all(sign * one >= GAP for one in more):
            by = median(map(abs, more))
            return f"{side} is the longer one in all {len(more)} pairs, by {by:g} tokens"
    return ""


def look_at_ends(data: Any, tokenizer: Any, sheet: Sheet, *, is_scored: bool) -> None:
    """Pairs of which one side alone ends in a token of its own, as a marker that a script adds."""
    sides = sides_of(data)
    if not sides or len(sides[0]) < FEWEST or not all(isinstance(s[0], Sized) for s in sides):
        return
    ends = [_ends(list(a), list(b)) for a, b in zip(*sides, strict=True)]
    for side, (own, other) in {"chosen": (0, 1), "rejected": (1, 0)}.items():
        (token, count), *_ = Counter(pair[own] for pair in ends).most_common(1)
        others = Counter(pair[other] for pair in ends)
        if token is None or count < NEARLY_ALL * len(ends) or others[token]:
            continue
        if len(others) < VARIED:
            continue
        name = repr(tokenizer.decode([token])) if tokenizer is not None else f"token {token}"
        said = (
            f"{count} of {len(ends)} {side} replies have {name} at the last place where a pair "
            "differs, and none of the others has"
        )
        if is_scored:
            sheet.find("ending_tells", LIKELY, said, place=f"train_dataset, the end of {side}")
        else:
            sheet.doubt(f"{said}: that token alone tells them apart")


def _ends(one: list[int], other: list[int]) -> tuple[int | None, int | None]:
    """The last tokens of two replies, without the end that they share; None of an empty one."""
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return (one[-1] if one else None), (other[-1] if other else None)
