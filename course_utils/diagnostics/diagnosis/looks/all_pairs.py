"""Looks at all pairs of a data set: in both orders, and told apart by lengths or ends alone."""

import re
from collections import Counter
from collections.abc import Sized
from statistics import median
from typing import Any

from course_utils.diagnostics.diagnosis.measures.data_sets import (
    agreement,
    column,
    columns_of,
    frozen,
)
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import PAIRS, SCORES, Subject

FEWEST = 32  # pairs, below which nothing is said of their lengths
SOME = 0.1  # of the pairs
SLIGHT = 0.2  # agreement of the rows of one pair: people who vote on it agree more
GAP = 2  # tokens, in every pair
NEARLY_ALL, VARIED = 0.95, 3  # of one side's last tokens; kinds of the other's
TWICE = 2  # pairs in which a text is chosen, and in which it is rejected
NEAR_A_COIN = 0.6  # of the pairs
TELLS_THEM = ": their length alone tells them apart"
ENOUGH = 400  # pairs that are read as text
BEGINNING, MANY = 4, 16  # tokens of a text; different beginnings, as prompts have
FORMS = {
    "capital letters": re.compile(r"[A-Z]"),
    "marks between their words": re.compile(r"[.,;:!?]"),
}
PROMPTS = ("prompt_ids", "prompt_input_ids", "prompt")
SIDES = (
    ("chosen_ids", "rejected_ids"),
    ("chosen_input_ids", "rejected_input_ids"),
    ("chosen", "rejected"),
)


def look_at_all_pairs(subject: Subject, sheet: Sheet) -> None:
    if subject.kind not in (PAIRS, SCORES):
        return
    data = getattr(subject.trainer, "train_dataset", None)
    if subject.kind == PAIRS:
        if not getattr(subject.args, "label_smoothing", 0.0):  # the share of pairs that are turned
            look_at_pairs_in_both_orders(data, sheet)
        look_at_prompts(data, subject.tokenizer, sheet)
    else:
        look_at_texts_on_both_sides(data, sheet)
    is_told = subject.kind == SCORES and (
        look_at_beginnings(data, sheet) or look_at_forms(data, subject.tokenizer, sheet)
    )
    if not is_told:
        look_at_lengths(data, sheet)
    look_at_ends(data, subject.tokenizer, sheet, is_scored=subject.kind == SCORES)


def look_at_pairs_in_both_orders(data: Any, sheet: Sheet) -> None:
    """Pairs that stand there in both orders, as often in the one as in the other.

    Of votes on a pair, one a row, most go one way.
    """
    names = columns_of(data)
    known = [pair for pair in SIDES if set(pair) <= set(names)]
    if not known:
        return
    prompt = next((n for n in PROMPTS if n in names), "")
    sides = [[frozen(one) for one in column(data, name)] for name in known[0]]
    prompts = [frozen(one) for one in column(data, prompt)] if prompt else [()] * len(sides[0])
    rows = list(zip(prompts, *sides, strict=True))
    held = set(rows)
    share = sum(a != b and (p, b, a) in held for p, a, b in rows) / len(rows)
    pairs = [(p, frozenset((a, b))) for p, a, b in rows]
    orders = [repr(a) < repr(b) for _, a, b in rows]
    if share >= SOME and agreement(pairs, orders) < SLIGHT:
        said = f"{share:.0%} of the pairs stand there the other way round as well"
        sheet.find("pairs_contradict", COUNTED, said, place="chosen, rejected")


def look_at_prompts(data: Any, tokenizer: Any, sheet: Sheet) -> None:
    """One prompt for all pairs, as when a column is filled with a constant.

    A text that is written without a prompt begins with the start token alone.
    """
    name = next((n for n in PROMPTS if n in columns_of(data)), "")
    prompts = [frozen(one) for one in column(data, name)] if name else []
    if len(prompts) < FEWEST or _is_empty(prompts[0], tokenizer):
        return
    if len(set(prompts)) == 1:
        said = f"all {len(prompts)} rows have the same {name}"
        sheet.find("prompts_alike", LIKELY, said, place=name)


def look_at_texts_on_both_sides(data: Any, sheet: Sheet) -> None:
    """Whole texts that are chosen in some pairs and rejected in others, as often as by a coin.

    A score is one number for each text: the best that any can do is to rank the texts by how often
    they were chosen. Of a text with its prompt, that gives most pairs.
    """
    sides = sides_of(data)
    if not sides:
        return
    chosen, rejected = ([frozen(text) for text in side] for side in sides)
    wins, losses = Counter(chosen), Counter(rejected)
    both = [
        pair
        for pair in zip(chosen, rejected, strict=True)
        if all(_often(t, wins, losses) for t in pair)
    ]
    if len(chosen) < FEWEST or len(both) < NEARLY_ALL * len(chosen):
        return
    gaps = [_rate(a, wins, losses) - _rate(b, wins, losses) for a, b in both]
    right = sum(0.5 if gap == 0 else gap > 0 for gap in gaps) / len(gaps)
    if right < NEAR_A_COIN:
        sheet.find(
            "pairs_contradict",
            COUNTED,
            f"{len(wins)} texts are chosen in some of the {len(chosen)} pairs and rejected in "
            f"others; the best score of each text would rank {right:.0%} of the pairs as they are",
            place="train_dataset, chosen and rejected",
            why="what the model reads does not say which of two replies is better: the same text "
            "is the better one in some pairs and the worse one in others, as where the prompt is "
            "not in front of it",
            advice="put the prompt in front of both replies, as messages or as the column prompt; "
            "print a row as the model reads it",
        )


def sides_of(data: Any) -> list[list]:
    """The ids of the chosen and of the rejected texts; [] where no column has them."""
    known = [pair for pair in SIDES[:2] if set(pair) <= set(columns_of(data))]
    return [column(data, name) for name in known[0]] if known else []


def _often(text: Any, wins: Counter, losses: Counter) -> bool:
    return min(wins[text], losses[text]) >= TWICE


def _rate(text: Any, wins: Counter, losses: Counter) -> float:
    return wins[text] / (wins[text] + losses[text])


def _is_empty(prompt: Any, tokenizer: Any) -> bool:
    """Whether a prompt, a text or its ids, is special tokens alone."""
    if isinstance(prompt, str) and tokenizer is not None:
        prompt = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    return all(one in getattr(tokenizer, "all_special_ids", ()) for one in prompt)


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
        why=f"the {bare} texts stand without their prompts, and the {other} ones with them: a "
        "reward model tells them apart by their beginning, and learns nothing of the replies",
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
            "length_tells",
            COUNTED,
            f"{max(parts):.0%} of {len(replies)} {with_it} replies have {what}, and no {without} "
            "one has",
            place="train_dataset, chosen and rejected",
            why=f"{with_it} and {without} are written in two forms, as where a text was cleaned on "
            "one side alone: the form tells them apart, and a reward model learns to score it",
            advice="clean both sides alike (capital letters, marks, signatures), or neither; then "
            "train again",
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
        sheet.doubt(f"{said}{TELLS_THEM}")
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
