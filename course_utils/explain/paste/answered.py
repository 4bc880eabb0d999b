"""What a Python prompt was asked and answered at once, as parts that stand at the same places."""


def parts_of(text: str) -> list[str]:
    """The parts of a tuple, or of what is asked for at once: parted by commas outside brackets.

    >>> parts_of("(torch.Size([3, 4]), tensor(0.5))"), parts_of(">>> w.std(), (a - b).abs().max()")
    (['torch.Size([3, 4])', 'tensor(0.5)'], ['w.std()', '(a - b).abs().max()'])
    """
    text = text.strip().removeprefix(">>>").strip()
    if text.startswith("(") and text.endswith(")") and _closes(text) == len(text) - 1:
        text = text[1:-1]
    found, depth = [""], 0
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [part.strip() for part in found]


def _closes(text: str) -> int:
    """Where the bracket that a text begins with is closed."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if not depth:
            return place
    return -1
