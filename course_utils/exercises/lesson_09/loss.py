"""Exercise 09.4: the loss of a step on policy, by hand."""

from numbers import Real

from course_utils.checks.declare import Criterion, Exercise

# Four replies to one question: advantages of a group add up to 0, on policy every ratio is 1.
ADVANTAGES, LENGTHS = (1.5, -0.5, -0.5, -0.5), (2, 7, 3, 4)
DUE = {
    "grpo": -sum(ADVANTAGES) / 4,
    "dapo": -sum(a * n for a, n in zip(ADVANTAGES, LENGTHS, strict=True)) / sum(LENGTHS),
    "slope": -ADVANTAGES[0] / (4 * LENGTHS[0]),
    "clipped": 0.0,
}
TOLERANCE = 0.003


def has_four_numbers(loss: dict) -> str | None:
    if set(loss) != set(DUE):
        return f"the keys are {sorted(map(str, loss))}; the check needs {', '.join(DUE)}"
    for key, value in loss.items():
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, bool) or not isinstance(value, Real):
            return f"{key} is {value!r}; a number is needed"
    return None


def _is_right(key: str):
    def look(loss: dict) -> str | None:
        got = float(loss[key])
        if abs(got - DUE[key]) <= TOLERANCE:
            return None
        return f"{got:.4g} is not the right number for {key}"

    look.__name__ = f"{key}_is_right"
    return look


LOOKS = {key: _is_right(key) for key in DUE}
SAYS = {
    "grpo": "The loss averaged over each reply, then over replies.",
    "dapo": "The loss averaged over all tokens.",
    "slope": "The slope of the first loss in one log-prob of reply 1.",
    "clipped": "The share of clipped tokens.",
}
WHY = {
    "grpo": "the advantages of a group add up to 0, whatever is learned",
    "dapo": "long replies weigh more, so the value depends on whether right replies are shorter",
    "slope": "the value is 0, but the slope is not, and the policy learns from the slope",
    "clipped": "a ratio of exactly 1 is inside every clip range",
}
NEXT = {
    "grpo": "write minus the advantage for every token, and take the two means",
    "dapo": "sum advantage times length, divide by the number of all tokens, mind the sign",
    "slope": "the derivative of exp(logp - old) at logp = old is 1; mind divisor and sign",
    "clipped": "compare 1 with 1 - 0.2 and 1 + 0.2",
}


LOSS = Exercise(
    id="09.4",
    name="LOSS",
    title="What the loss says on policy",
    minutes=5,
    difficulty="four numbers",
    points=3,
    reads="loss",
    expects=(dict,),
    hints=(
        "On policy the ratio is 1. As a number, what is the loss of one token then?",
        "Minus its advantage. Average these over each reply and then over replies, or over all 16.",
        "The first token of reply 1 enters the first loss as -1.5 * ratio, divided by its two "
        "tokens and by four replies.",
    ),
    form=has_four_numbers,
    criteria=tuple(
        Criterion(SAYS[key], look, why=WHY[key], next=NEXT[key]) for key, look in LOOKS.items()
    ),
    answer=DUE,
)
