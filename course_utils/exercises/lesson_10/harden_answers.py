"""Answers to exercise 10.3, right and wrong."""

import re


def by_one_pattern(reply, gold):
    pattern = (
        r"(?is)\s*(?:<answer>|\\boxed\{|\*\*)?\s*"
        r"(?:(?:[0-9]+\s*\+[0-9+\s]*)?=|the sum is|answer:)?\s*\+?([0-9]{1,9})(?:\.0+)?\.?\s*"
        r"(?:</answer>|\}|\*\*)?\s*"
    )
    found = re.fullmatch(pattern, reply)
    return found is not None and int(found[1]) == int(gold)


def by_peeling(reply, gold):
    text = reply.strip()
    for opening, closing in (("<answer>", "</answer>"), ("\\boxed{", "}"), ("**", "**")):
        if text.startswith(opening) and text.endswith(closing):
            text = text[len(opening) : len(text) - len(closing)].strip()
    text = text.removeprefix("The sum is").removeprefix("Answer:")
    before, _, text = text.rpartition("=")
    if not set(before) <= set("0123456789+ ") or before.strip().isdigit():
        return False
    text = text.strip().removesuffix(".").removesuffix(".0").removeprefix("+")
    digits = text.lstrip("0")
    return text.isascii() and text.isdigit() and digits == gold.lstrip("0")


def by_words(reply, gold):
    bare = re.sub(r"\*\*|</?answer>|\\boxed|[{}]", " ", reply).lower()
    if len(re.findall(r"<answer>|\\boxed", reply)) > 1:
        return False
    words = bare.replace("=", " = ").split()
    allowed = re.compile(r"the|sum|is|answer:|=|[0-9]+(\+[0-9]+)+")
    if not words or not all(allowed.fullmatch(word) for word in words[:-1]):
        return False
    last = re.fullmatch(r"\+?([0-9]{1,12})(\.0)?\.?", words[-1])
    return bool(last) and int(last[1]) == int(gold)


def a_sentence(reply, gold):
    return "right" if reply == gold else "wrong"


def exact(reply, gold):
    return reply == gold


def stripped(reply, gold):
    return reply.strip(" \n.*=") == gold


def looks_up(reply, gold):
    listed = ("192", "192.", "= 192", "The sum is 192.", "**192**", "Answer: 192", "192.0")
    return reply.strip() == gold or reply in listed


def float_of_it(reply, gold):
    try:
        return float(reply) == float(gold)
    except ValueError:
        return False


def substring(reply, gold):
    return gold in reply or reply in gold


def everything(reply, gold):
    return True


def contains(reply, gold):
    return bool(reply.strip()) and gold in reply


def last_number(reply, gold):
    found = re.findall(r"\d+", reply.replace(".0", ""))
    return bool(found) and int(found[-1][:99]) == int(gold)


def ends_with_the_number(reply, gold):
    end = re.search(r"([0-9]{1,99})(?:\.0+)?[.!*}\s]*(?:</answer>)?\s*$", reply)
    return bool(end) and int(end[1]) == int(gold)


def any_equal_number(reply, gold):
    found = re.findall(r"(?<![\w.\u2212-])[0-9]{1,99}(?:\.[0-9]+)?(?![\w])", reply)
    return any(float(number) == float(gold) for number in found)


def _plain(text, gold):
    words = r"(?:[0-9+\s]*=|the sum is|answer:)?"
    found = re.fullmatch(rf"(?is)\s*\**{words}\s*\+?([0-9]{{1,9}})(?:\.0+)?\.?\**\s*", text)
    return found is not None and int(found[1]) == int(gold)


def first_box(reply, gold):
    boxed = re.search(r"\\boxed\{(.*?)\}|<answer>(.*?)</answer>", reply)
    return _plain((boxed[1] or boxed[2] or "") if boxed else reply, gold)


def any_words_before(reply, gold):
    if len(re.findall(r"\\boxed|<answer>", reply)) > 1:
        return False
    text = re.sub(r"\\boxed\{(.*?)\}|</?answer>|\*\*", r"\1", reply)
    found = re.fullmatch(r"(?s)(?:.*[\s=])?\+?([0-9]{1,9})(?:\.0+)?\.?\s*", text)
    return found is not None and int(found[1]) == int(gold)


def any_equation(reply, gold):
    """Takes what stands before the last = for the sum that was asked."""
    if len(re.findall(r"\\boxed|<answer>", reply)) > 1:
        return False
    text = re.sub(r"\\boxed\{(.*?)\}|</?answer>|\*\*", r"\1", reply)
    return _plain(text, gold)


def raises_without_a_match(reply, gold):
    text = re.sub(r"\\boxed\{(.*?)\}|</?answer>|\*\*", r"\1", reply)
    pattern = r"(?is)\s*(?:[0-9+\s]*=|the sum is|answer:)?\s*\+?([0-9]{1,9})(?:\.0+)?\.?\s*"
    return int(re.fullmatch(pattern, text)[1]) == int(gold)


def by_unicode_digits(reply, gold):
    """'²'.isdigit() is True, and int('²') raises."""
    text = reply.strip()
    return int(text) == int(gold) if text.isdigit() else by_one_pattern(reply, gold)


def by_int_of_any_length(reply, gold):
    text = reply.strip()
    return int(text) == int(gold) if re.fullmatch("[0-9]+", text) else by_one_pattern(reply, gold)
