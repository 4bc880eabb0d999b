"""Looks at ratings that stand beside pairs: whether they agree with which reply was chosen.

Ratings that are kept as text sort as text: "9" comes behind "12".
"""

import math
import re
from collections import Counter
from itertools import combinations
from typing import Any

from course_utils.diagnostics.batch_view.rows import unchanged
from course_utils.diagnostics.diagnosis.looks.told_apart import SIDES
from course_utils.diagnostics.diagnosis.measures.data_sets import column, columns_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import PAIRS, SCORES, Subject

MOST, FEWEST = 512, 8  # rows that are read; rows of a kind
SHARE = 0.1  # of the rows
TELLS = 0.7  # of the pairs: what a count of words must tell
AS_NUMBERS = "compare the ratings as numbers: float(rating)"
CHOSEN = re.compile(r"chosen|accepted|preferred|better|winner", re.IGNORECASE)
MEASURED_BY_A_MODEL = re.compile(r"log_?p", re.IGNORECASE)  # no rating: a reference's log-probs
LESS_IS_BETTER = re.compile(
    r"(^|_)(rank|place|loss|errors?|perplexity|ppl|distance|toxic\w*|harm\w*|risk|penalty)($|_)",
    re.IGNORECASE,
)
MORE_IS_BETTER = re.compile(  # a length, a price or a temperature says nothing of which is better
    r"scor|rat(e|ing)|reward|quality|grade|stars?|point|vote|like|elo|help|mark|prefer|opinion",
    re.IGNORECASE,
)
REJECTED = re.compile(r"rejected|dispreferred|worse|loser", re.IGNORECASE)


def look_at_ratings(subject: Subject, sheet: Sheet) -> None:
    """A chosen reply must not be rated worse than its rejected one, where both ratings are there.

    Of a rank, a loss or harm the lower one is better.
    """
    rated = _rated(subject) if subject.kind in (PAIRS, SCORES) else {}
    if rated:
        _sorted_as_text(subject, rated, sheet)
    names = [name for name in rated if _rates(name)]
    chosen = [name for name in names if CHOSEN.search(name) and not REJECTED.search(name)]
    rejected = [name for name in names if REJECTED.search(name)]
    if len(chosen) != 1 or len(rejected) != 1:
        return
    pairs = list(zip(rated[chosen[0]], rated[rejected[0]], strict=True))
    sign, word = (-1, "above") if LESS_IS_BETTER.search(chosen[0]) else (1, "below")
    lower = [(a, b) for a, b in pairs if sign * float(a) < sign * float(b)]
    said = f"{len(lower)} of {len(pairs)} pairs have {chosen[0]} {word} {rejected[0]}"
    if len(pairs) < FEWEST or len(lower) < SHARE * len(pairs):
        sheet.clear("ratings of the pairs", said)
        return
    is_text = isinstance(lower[0][0], str) and all(_is_turned(a, b) for a, b in lower)
    first = f"the first of them: {lower[0][0]!r} and {lower[0][1]!r}"
    sheet.find(
        "pairs_inverted",
        COUNTED,
        said,
        first,
        place=f"{chosen[0]}, {rejected[0]}",
        why=_as_text(*lower[0]) if is_text else "by their own ratings the chosen replies are worse",
        advice=AS_NUMBERS if is_text else "",
    )


def _rates(name: str) -> bool:
    """Whether a column's name says which of two numbers is the better reply's.

    >>> [name for name in ("chosen_score", "loss_chosen", "chosen_length") if _rates(name)]
    ['chosen_score', 'loss_chosen']
    """
    name = re.sub(f"{CHOSEN.pattern}|{REJECTED.pattern}", "", name, flags=re.IGNORECASE)
    return bool(LESS_IS_BETTER.search(name) or MORE_IS_BETTER.search(name))


def _sorted_as_text(subject: Subject, rated: dict[str, list], sheet: Sheet) -> None:
    """Pairs whose ratings sort as text otherwise than as numbers, and go against all others.

    Nothing says which rating is the chosen reply's. What the words of the other pairs tell of
    better and worse does.
    """
    sides = next((pair for pair in SIDES if set(pair) <= set(columns_of(_data(subject)))), None)
    texts = {name: values for name, values in rated.items() if isinstance(values[0], str)}
    if sides is None:
        return
    chosen, rejected = (column(_data(subject), name, MOST) for name in sides)
    more = [Counter(a) - Counter(b) for a, b in zip(chosen, rejected, strict=True)]
    less = [Counter(b) - Counter(a) for a, b in zip(chosen, rejected, strict=True)]
    for one, other in combinations(texts, 2):
        pairs = list(zip(texts[one], texts[other], strict=True))
        apart = [at for at, (a, b) in enumerate(pairs) if float(a) != float(b)]
        turned = [at for at in apart if _is_turned(*pairs[at])]
        usual = [at for at in apart if not _is_turned(*pairs[at])]
        if min(len(turned), len(usual)) < FEWEST:
            continue
        told, against = (_share_told(usual, of, more, less) for of in (usual, turned))
        if told < TELLS or against > 1 - TELLS:
            continue
        sheet.find(
            "pairs_inverted",
            MEASURED,
            f"of the {len(usual)} pairs whose ratings {one} and {other} sort alike as text and as "
            f"numbers a count of words tells {told:.0%}; of the {len(turned)} others it tells "
            f"{against:.0%}, so they are the other way round",
            f"the first of those: {pairs[turned[0]][0]!r} and {pairs[turned[0]][1]!r}",
            place=f"{one}, {other}",
            why=_as_text(*pairs[turned[0]]),
            advice=AS_NUMBERS,
        )
        return


def _share_told(learnt: list[int], asked: list[int], more: list, less: list) -> float:
    """The share of pairs in which the words that chosen has more of are those of `learnt`."""
    weight: Counter = Counter()
    for at in learnt:
        weight.update(more[at])
        weight.subtract(less[at])
    sums = [
        sum(n * weight[w] for w, n in more[at].items())
        - sum(n * weight[w] for w, n in less[at].items())
        for at in asked
    ]
    return sum(one > 0 for one in sums) / len(sums)


def _is_turned(a: str, b: str) -> bool:
    """Whether text and numbers sort these two otherwise.

    >>> _is_turned("9", "12"), _is_turned("8", "9")
    (True, False)
    """
    return (a > b) != (float(a) > float(b))


def _data(subject: Subject) -> Any:
    return getattr(subject.trainer, "train_dataset", None)


def _as_text(a: str, b: str) -> str:
    more, less = (a, b) if a > b else (b, a)
    return (
        f"the ratings were compared as text, where {more!r} is more than {less!r}: those pairs are "
        "the wrong way round"
    )


def _rated(subject: Subject) -> dict[str, list]:
    """The columns that hold one rating for each row, as a number or as text."""
    data = _data(subject)
    with unchanged(data):
        rows = {name: column(data, name, MOST) for name in columns_of(data)}
    return {
        name: values
        for name, values in rows.items()
        if values and not MEASURED_BY_A_MODEL.search(name) and all(map(_is_number, values))
    }


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number, or text that says one.

    >>> _is_number("12"), _is_number("12 of 20"), _is_number(True)
    (True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False
