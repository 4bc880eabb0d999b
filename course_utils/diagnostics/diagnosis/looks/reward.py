"""Looks at what a reward function pays for: right answers, and texts that answer nothing."""

from course_utils.diagnostics.diagnosis.measures.pricing import (
    EMPTY,
    FORMS,
    JUNK,
    LISTED,
    LONGER,
    OF_ANOTHER,
    PLAIN,
    Prices,
    prices,
)
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.measures.specimens import quoted
from course_utils.diagnostics.diagnosis.sheet.finding import LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import POLICY, Subject

PAID = 0.95  # of the best reward: what junk must not reach
MORE = 0.1  # of the largest price: what forty words more may add


def look_at_rewards(subject: Subject, sheet: Sheet) -> None:
    functions = getattr(subject.trainer, "reward_funcs", None)
    if subject.kind != POLICY or not functions:
        return
    if not subject.probe_rewards:
        sheet.miss("what the reward pays for", "probe_rewards=True calls it")
        return
    with sheet.trying("what the reward pays for"):
        with put_back(subject):
            found = prices(subject.trainer)
        if not found:
            sheet.miss("what the reward pays for", "it is a model, and was given no text")
        for one in found:
            _judge(one, sheet)
        if getattr(subject.args, "multi_objective_aggregation", "") != "normalize_then_sum":
            _judge_sum(found, sheet)


def _judge(one: Prices, sheet: Sheet) -> None:
    """A function that pays all texts alike, pays junk like the answer, or pays for length."""
    if one.is_flat:
        _one_price(one, sheet)
        return
    price = one.of(PLAIN)
    junk = (*JUNK, LISTED) if len(set(one.answers)) > 1 else JUNK
    paid = {text: mean for text in junk if (mean := one.of(text)) is not None}
    if price is None or not paid:
        sheet.show(f"reward {one.name}", f"it gives no score for {PLAIN}")
        return
    _hint_at_form(one, price, sheet)
    top = max(paid, key=paid.__getitem__)
    longer = one.of(LONGER)
    largest = max(abs(price), *map(abs, paid.values()))
    is_best = price > 0 and paid[top] <= price  # else the row's answer is not what is paid
    if is_best and price > min(paid.values()) and paid[top] >= PAID * price:
        _pays_junk(one, top, price, sheet)
    elif longer is not None and longer > price + MORE * largest and _knows_answers(one, price):
        sheet.find(
            "length_into_limit",
            LIKELY,
            f"{one.name} pays {longer:.3g} for {LONGER}, and {price:.3g} for it alone",
            place=one.name,
            why="the reward function pays more for the same answer with words behind it",
        )
    else:
        said = f"pays {price:.3g} for {PLAIN}, at most {paid[top]:.3g} for what is none ({top})"
        write = sheet.clear if is_best else sheet.show
        write(f"reward {one.name}", said)


def _knows_answers(one: Prices, price: float) -> bool:
    """Whether another row's answer earns less; of an essay no answer is the right one."""
    other = one.of(OF_ANOTHER)
    return price > 0 and other is not None and other < (1 - MORE) * price


def _judge_sum(found: list[Prices], sheet: Sheet) -> None:
    """Parts that are sound alone, but whose sum is highest for silence."""
    parts = [one for one in found if one.weight and one.of(EMPTY) is not None]
    sums = {
        text: sum(one.weight * one.of(text) for one in parts)
        for text in (*FORMS, EMPTY)
        if all(one.of(text) is not None for one in parts)
    }
    paid = [t for t in FORMS if t in sums and any(one.of(t) > one.of(EMPTY) for one in parts)]
    if len(parts) < 2 or not paid:
        return
    best = max(paid, key=sums.__getitem__)
    if sums[EMPTY] <= sums[best]:
        return
    sheet.find(
        "reward_pays_junk",
        MEASURED,
        f"the weighted rewards add up to {sums[EMPTY]:.3g} for {EMPTY}, and to {sums[best]:.3g} "
        f"for {best}",
        *(
            f"{one.name} (weight {one.weight:g}): {one.of(EMPTY):.3g} and {one.of(best):.3g}"
            for one in parts
        ),
        place=", ".join(one.name for one in parts),
        why="the parts of the reward together pay more for silence than for the right answer",
        advice="normalise each part within its group before they are summed "
        "(multi_objective_aggregation='normalize_then_sum')",
    )


def _pays_junk(one: Prices, top: str, price: float, sheet: Sheet) -> None:
    top = EMPTY if one.of(EMPTY) == one.of(top) else top
    count, wrong = len(one.answers), one.of(OF_ANOTHER)
    rows = one.rows_that_pay(top, PAID * price)
    sheet.find(
        "reward_pays_junk",
        MEASURED,
        f"{one.name} pays {one.of(top):.3g} for {top}, in {rows} of {count} rows",
        f"it pays {price:.3g} for {PLAIN}, in {one.rows_that_pay(PLAIN, PAID * price)} of {count}",
        *([f"it pays {wrong:.3g} for {OF_ANOTHER}"] if wrong is not None else []),
        place=one.name,
        why=f"the reward function pays for {top} as it pays for the right answer",
        advice=f"let {one.name} parse one answer out of the reply, give 0 where there is none, and "
        "compare it for equality",
        specimen=(
            _first_answer(one),
            *_prices_of_row(one, top),
        ),
    )


def _first_answer(one: Prices) -> str:
    return f"row 0 of the data has the answer {quoted(one.answers[0])}"


def _prices_of_row(one: Prices, top: str) -> tuple[str, ...]:
    texts = dict.fromkeys((PLAIN, OF_ANOTHER, EMPTY, top))
    return tuple(f"row 0: {text}: {_said(one.scores[text][0])}" for text in texts)


def _one_price(one: Prices, sheet: Sheet) -> None:
    """A row pays every text alike: a hint, which groups without a signal confirm."""
    scores = dict.fromkeys(one.scores[PLAIN])
    said = ", ".join(map(_said, scores))
    what = f"{one.name} gives {said} for every text, {PLAIN} included"
    if len(scores) > 1:
        what = (
            f"{one.name} gives every text of a row the same ({said} by the row), {PLAIN} included"
        )
    sheet.show(f"reward {one.name}", what)
    if one.weight:
        answer = _first_answer(one)
        texts = f"tried: {', '.join([*FORMS, *JUNK])}"
        fix = f"change {one.name} until {PLAIN} earns more than {EMPTY}"
        sheet.hint("no_signal", what, fix, answer, texts)


def _hint_at_form(one: Prices, price: float, sheet: Sheet) -> None:
    """The right answer earns nothing as written, and is paid in another form."""
    better = [text for text in FORMS if (one.of(text) or 0.0) > max(price, 0.0)]
    if price > 0 or not better or not one.weight:
        return
    best = max(better, key=one.of)
    what = f"{one.name} gives {price:.3g} for {PLAIN} alone, and {one.of(best):.3g} for {best}"
    fix = f"let {one.name} grade a reply without that form as well, or teach the form first"
    answer = _first_answer(one)
    sheet.hint("no_signal", what, fix, answer)


def _said(score: float | None) -> str:
    return "no score (None)" if score is None else f"{score:.3g}"
