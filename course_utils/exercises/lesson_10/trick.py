"""Exercise 10.2: from replies with their rewards to the kind of reply that is paid for nothing."""

import random
import re
from collections import defaultdict
from collections.abc import Callable

from course_utils.checks.declare import Criterion, Exercise

Row = tuple[str, float, bool]
AT_LEAST = 5


def shape(reply: str) -> str:
    return re.sub(r"\d", "9", reply)


def batch(kinds: dict[str, tuple[int, float, float]], seed: int) -> list[Row]:
    """Rows in any order: of each kind so many, with its mean reward and its share of right ones."""
    rng, rows = random.Random(seed), []
    for kind, (number, reward, right) in kinds.items():
        num_right = round(number * right)
        for n in range(number):
            reply = re.sub("9", lambda _: str(rng.randint(0, 9)), kind)
            has_twin = n < number // 2 * 2
            around = 0.125 * (-1) ** n if has_twin else 0.0
            rows.append((reply, reward + around, n < num_right))
    rng.shuffle(rows)
    return rows


# --- batches: the kind asked for is the first -----------------------------------------------------
PLAIN = batch({"": (16, 1.0, 0.0), "999": (40, 0.9, 0.9), "99": (8, 0.25, 0.0)}, 0)
RARE_AND_COMMON = batch({"999": (12, 0.75, 0.0), "99": (60, 0.75, 0.5), "9": (9, 0.0, 0.0)}, 1)
WELL_PAID_AND_RIGHT = batch(
    {"99 or 99": (10, 0.75, 0.1), "99": (20, 1.0, 1.0), "": (30, 0.0, 0.0), "9": (8, 0.125, 0.0)}, 2
)
NEGATIVE = batch({"": (14, 0.0, 0.0), "999": (30, -0.25, 0.5), "99": (10, -0.75, 0.0)}, 3)
ONE_LUCKY = batch({"ok": (8, 0.5, 0.0), "I think 99": (4, 2.0, 0.0), "999": (40, 0.75, 0.75)}, 4)
PAID_SELDOM = [("ok", 4.0 * (n % 4 == 0), False) for n in range(12)] + batch(
    {"999": (30, 0.75, 0.5)}, 6
)
OWED_AND_OVERPAID = [("99", float(n % 2), n % 2 == 0) for n in range(20)] + batch(
    {"999": (30, 0.5, 0.25), "": (8, 0.0, 0.0)}, 7
)
FINED = [("9", float((-1) ** n), False) for n in range(12)] + batch({"999": (30, 0.25, 0.0)}, 10)
BLANK_BEHIND = batch({"999 ": (10, 0.75, 0.0), "999": (60, 0.75, 0.75), "99": (9, 0.25, 0.0)}, 8)
CAPITAL = batch({"Ok": (9, 0.75, 0.0), "ok": (60, 0.125, 0.125), "999": (8, 0.75, 0.25)}, 9)
JUST_ENOUGH = batch({"9+9=99": (5, 1.0, 0.0), "999": (50, 0.75, 0.7)}, 5)


def gives_a_shape(trick: Callable) -> str | None:
    got = trick(list(PLAIN))
    if not isinstance(got, str):
        return f"it returns a {type(got).__name__}; one shape is needed, a str such as '999'"
    if re.search("[0-8]", got):
        return f"it returns {got!r}, a reply; its shape is {shape(got)!r}"
    return None


def _names(rows: list[Row], want: str, said: str) -> Callable[[Callable], str | None]:
    def look(trick) -> str | None:
        got = trick(list(rows))
        return None if got == want else f"{said}, it names {got!r}; right is {want!r}"

    return look


def _all_of(*looks: Callable) -> Callable:
    return lambda trick: next(filter(None, (look(trick) for look in looks)), None)


def names_the_silence(trick) -> str | None:
    return _names(PLAIN, "", "where silence earns 1.0 and 999 is right nine times in ten")(trick)


def compares_with_the_truth(trick) -> str | None:
    return _all_of(
        _names(WELL_PAID_AND_RIGHT, "99 or 99", "where 99 earns most and is always right"),
        _names(NEGATIVE, "", "where every reward is at most about 0"),
        _names(FINED, "999", "where 9 earns 1 or -1, half each, and 999 earns 0.25"),
        _names(OWED_AND_OVERPAID, "999", "where 99 earns 1 when wrong and 0 when right, half each"),
    )(trick)


def tells_shapes_apart(trick) -> str | None:
    return _all_of(
        _names(BLANK_BEHIND, "999 ", "where '999 ' is paid and never right, and '999' is right"),
        _names(CAPITAL, "Ok", "where 'Ok' earns 0.75 and is never right, and 'ok' earns little"),
    )(trick)


def takes_means(trick) -> str | None:
    return _all_of(
        _names(RARE_AND_COMMON, "999", "where 12 replies are overpaid by 0.75 and 9 not at all"),
        _names(PAID_SELDOM, "ok", "where ok is never right and earns 4.0 in 3 of 12 replies"),
    )(trick)


def ignores_what_is_rare(trick) -> str | None:
    return _all_of(
        _names(ONE_LUCKY, "ok", "where one shape has four replies"),
        _names(JUST_ENOUGH, "9+9=99", "where one shape has five replies"),
    )(trick)


def _shape(reply):
    return re.sub(r"\d", "9", reply)


def _grouped(rows, at_least=5):
    kinds = defaultdict(list)
    for reply, reward, right in rows:
        kinds[_shape(reply)].append((reward, right))
    return {kind: pairs for kind, pairs in kinds.items() if len(pairs) >= at_least}


def by_groups(rows):
    gaps = {k: sum(p - t for p, t in pairs) / len(pairs) for k, pairs in _grouped(rows).items()}
    return max(gaps, key=gaps.get)


TRICK = Exercise(
    id="10.2",
    name="TRICK",
    title="Which kind of reply is paid for nothing?",
    minutes=6,
    difficulty="a few lines",
    points=3,
    reads="trick",
    expects=(Callable,),
    hints=(
        "For one kind of reply: what does it earn on average, and how often is it right?",
        "Collect rewards and truths by shape, and drop shapes with fewer than five replies.",
        "gap = mean reward - mean truth for each shape; max(gaps, key=gaps.get).",
    ),
    form=gives_a_shape,
    criteria=(
        Criterion(
            "It names silence where silence is the trick.",
            names_the_silence,
            why="the most common kind of reply is often the honest one",
            next="group by shape first, then compare the groups",
        ),
        Criterion(
            "It compares what a kind earns with how often it is right.",
            compares_with_the_truth,
            why="a kind that is well paid and right is no trick; one that is paid little and "
            "never right may be",
            next="subtract the share of right replies from the mean reward",
        ),
        Criterion(
            "It changes only digits: a blank or a capital makes another shape.",
            tells_shapes_apart,
            why="a trick may differ from honest replies by one blank",
            next="take the reply as it is and replace only its digits",
        ),
        Criterion(
            "It judges a kind by its mean, not by how common it is.",
            takes_means,
            why="a trick is rare when the policy finds it, and that is when you want to see it",
            next="divide by the number of replies of that shape",
        ),
        Criterion(
            "Shapes with fewer than five replies do not count, and five are enough.",
            ignores_what_is_rare,
            why="the mean of very few replies says little",
            next="leave out a shape when len(its replies) < 5",
        ),
    ),
    answer=by_groups,
)
