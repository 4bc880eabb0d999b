"""Looks at all pairs of a data set: in both orders, one prompt for all, texts on both sides."""

from collections import Counter
from typing import Any

from course_utils.diagnostics.diagnosis.looks.told_apart import (
    FEWEST,
    NEAR_A_COIN,
    NEARLY_ALL,
    SIDES,
    look_at_what_tells_them,
    sides_of,
)
from course_utils.diagnostics.diagnosis.measures.data_sets import (
    agreement,
    column,
    columns_of,
    frozen,
)
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import PAIRS, SCORES, Subject

SOME = 0.1  # of the pairs
SLIGHT = 0.2  # agreement of the rows of one pair: people who vote on it agree more
TWICE = 2  # pairs in which a text is chosen, and in which it is rejected
PROMPTS = ("prompt_ids", "prompt_input_ids", "prompt")


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
    look_at_what_tells_them(data, subject.tokenizer, sheet, is_scored=subject.kind == SCORES)


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


def _often(text: Any, wins: Counter, losses: Counter) -> bool:
    return min(wins[text], losses[text]) >= TWICE


def _rate(text: Any, wins: Counter, losses: Counter) -> float:
    return wins[text] / (wins[text] + losses[text])


def _is_empty(prompt: Any, tokenizer: Any) -> bool:
    """Whether a prompt, a text or its ids, is special tokens alone."""
    if isinstance(prompt, str) and tokenizer is not None:
        prompt = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    return all(one in getattr(tokenizer, "all_special_ids", ()) for one in prompt)
