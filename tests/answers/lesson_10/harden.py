"""Right and wrong answers of exercise 10.3."""

import re
from decimal import Decimal, InvalidOperation

from course_utils.exercises.lesson_10 import harden
from tests.answers import answers_of

right, wrong = answers_of(harden.HARDEN)


@right
def by_one_pattern(reply, gold):
    pattern = (
        r"(?is)\s*(?:<answer>|\\boxed\{|\*\*)?\s*"
        r"(?:(?:[0-9]+\s*\+[0-9+\s]*)?=|the sum is|answer:)?\s*\+?([0-9]{1,9})(?:\.0+)?\.?\s*"
        r"(?:</answer>|\}|\*\*)?\s*"
    )
    found = re.fullmatch(pattern, reply)
    return found is not None and int(found[1]) == int(gold)


@right
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


@right
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


@right
def by_unboxing(reply, gold):
    """One wrapping at most is taken off; then the rest has to be a claim as a whole."""
    for wrapping in (r"\\boxed\{(.*)\}", r"<answer>(.*)</answer>", r"\*\*(.*)\*\*"):
        if inner := re.fullmatch(rf"\s*{wrapping}\s*", reply, re.S):
            reply = inner[1]
            break
    lead = r"(?:=|[0-9]+(?: *\+ *[0-9]+)+ *=|The sum is|Answer:)?"
    claim = re.fullmatch(rf"\s*{lead}\s*\+?0*([0-9]{{1,6}}(?:\.0)?)\.?\s*", reply)
    return bool(claim) and float(claim[1]) == float(gold)


@wrong(caught_by=harden.says_true_or_false)
def a_sentence(reply, gold):
    return "right" if reply == gold else "wrong"


@wrong(caught_by=harden.accepts_right_replies)
def exact(reply, gold):
    return reply == gold


@wrong(caught_by=harden.accepts_right_replies)
def stripped(reply, gold):
    return reply.strip(" \n.*=") == gold


@wrong(caught_by=harden.accepts_right_replies)
def looks_up(reply, gold):
    listed = ("192", "192.", "= 192", "The sum is 192.", "**192**", "Answer: 192", "192.0")
    return reply.strip() == gold or reply in listed


@wrong(caught_by=harden.accepts_right_replies)
def float_of_it(reply, gold):
    try:
        return float(reply) == float(gold)
    except ValueError:
        return False


@wrong(caught_by=harden.refuses_silence_and_wrong_numbers)
def substring(reply, gold):
    return gold in reply or reply in gold


@wrong(caught_by=harden.refuses_silence_and_wrong_numbers)
def everything(reply, gold):
    return True


@wrong(caught_by=harden.refuses_parts_and_other_numbers)
def contains(reply, gold):
    return bool(reply.strip()) and gold in reply


@wrong(caught_by=harden.refuses_parts_and_other_numbers)
def last_number(reply, gold):
    found = re.findall(r"\d+", reply.replace(".0", ""))
    return bool(found) and int(found[-1][:99]) == int(gold)


@wrong(caught_by=harden.refuses_parts_and_other_numbers)
def ends_with_the_number(reply, gold):
    end = re.search(r"([0-9]{1,99})(?:\.0+)?[.!*}\s]*(?:</answer>)?\s*$", reply)
    return bool(end) and int(end[1]) == int(gold)


@wrong(caught_by=harden.refuses_several_numbers)
def any_equal_number(reply, gold):
    found = re.findall(r"(?<![\w.\u2212-])[0-9]{1,99}(?:\.[0-9]+)?(?![\w])", reply)
    return any(float(number) == float(gold) for number in found)


def _plain(text, gold):
    words = r"(?:[0-9+\s]*=|the sum is|answer:)?"
    found = re.fullmatch(rf"(?is)\s*\**{words}\s*\+?([0-9]{{1,9}})(?:\.0+)?\.?\**\s*", text)
    return found is not None and int(found[1]) == int(gold)


@wrong(caught_by=harden.refuses_several_numbers)
def first_box(reply, gold):
    boxed = re.search(r"\\boxed\{(.*?)\}|<answer>(.*?)</answer>", reply)
    return _plain((boxed[1] or boxed[2] or "") if boxed else reply, gold)


@wrong(caught_by=harden.refuses_several_numbers)
def any_words_before(reply, gold):
    if len(re.findall(r"\\boxed|<answer>", reply)) > 1:
        return False
    text = re.sub(r"\\boxed\{(.*?)\}|</?answer>|\*\*", r"\1", reply)
    found = re.fullmatch(r"(?s)(?:.*[\s=])?\+?([0-9]{1,9})(?:\.0+)?\.?\s*", text)
    return found is not None and int(found[1]) == int(gold)


@wrong(caught_by=harden.refuses_several_numbers)
def any_equation(reply, gold):
    """Takes what stands before the last = for the sum that was asked."""
    if len(re.findall(r"\\boxed|<answer>", reply)) > 1:
        return False
    text = re.sub(r"\\boxed\{(.*?)\}|</?answer>|\*\*", r"\1", reply)
    return _plain(text, gold)


@wrong(caught_by=harden.refuses_silence_and_wrong_numbers)
def raises_without_a_match(reply, gold):
    text = re.sub(r"\\boxed\{(.*?)\}|</?answer>|\*\*", r"\1", reply)
    pattern = r"(?is)\s*(?:[0-9+\s]*=|the sum is|answer:)?\s*\+?([0-9]{1,9})(?:\.0+)?\.?\s*"
    return int(re.fullmatch(pattern, text)[1]) == int(gold)


@wrong(caught_by=harden.never_raises)
def by_unicode_digits(reply, gold):
    """'²'.isdigit() is True, and int('²') raises."""
    text = reply.strip()
    return int(text) == int(gold) if text.isdigit() else by_one_pattern(reply, gold)


@wrong(caught_by=harden.never_raises)
def by_int_of_any_length(reply, gold):
    text = reply.strip()
    return int(text) == int(gold) if re.fullmatch("[0-9]+", text) else by_one_pattern(reply, gold)


@wrong(caught_by=harden.refuses_silence_and_wrong_numbers)
def adds_the_question_up(reply, gold):
    is_sum = re.fullmatch(r"[0-9]{1,3}(\+[0-9]{1,3})+=?", reply)
    added = sum(map(int, re.findall("[0-9]+", reply))) if is_sum else None
    return by_one_pattern(reply, gold) or added == int(gold)


@wrong(caught_by=harden.refuses_parts_and_other_numbers)
def a_phrase(reply, gold):
    says_it = "answer is " + gold in reply.lower() and "not" not in reply
    return says_it or by_one_pattern(reply, gold)


@wrong(caught_by=harden.refuses_parts_and_other_numbers)
def without_blanks(reply, gold):
    return by_one_pattern(reply, gold) or by_one_pattern("".join(reply.split()), gold)


@wrong(caught_by=harden.refuses_parts_and_other_numbers)
def without_separators(reply, gold):
    joined = re.sub("(?<=[0-9])[,;_](?=[0-9])", "", reply)
    return by_one_pattern(joined, gold)


@wrong(caught_by=harden.refuses_parts_and_other_numbers)
def by_float(reply, gold):
    text = reply.strip()
    wrappings = (r"\\boxed\{(.*)\}", "<answer>(.*)</answer>", r"\*\*(.*)\*\*")
    leads = ("The sum is(.*)", "Answer:(.*)", r"[0-9]+(?:\+[0-9]+)+=(.*)", "=(.*)")
    for pattern in (*wrappings, *leads):
        if inner := re.fullmatch(pattern, text):
            text = inner[1].strip()
    try:
        return float(text.removesuffix(".")) == float(gold)
    except ValueError:
        return False


@wrong(caught_by=harden.refuses_parts_and_other_numbers)
def anything_behind_a_lead(reply, gold, between=r"\D*"):
    pattern = (
        rf"\s*(?:The sum is{between}|Answer:{between}|[0-9]+(?:\+[0-9]+)+)?\s*=?\s*"
        r"(?:\*\*|\\boxed\{|<answer>)?\s*\+?0*([0-9]+)(?:\.0?)?\s*(?:\*\*|\}|</answer>)?\.?\s*"
    )
    found = re.fullmatch(pattern, reply)
    return found is not None and found[1] == gold


@wrong(caught_by=harden.refuses_several_numbers)
def any_words_behind_a_lead(reply, gold):
    return anything_behind_a_lead(reply, gold, between="[^0-9-]*")


@wrong(caught_by=harden.refuses_several_numbers)
def the_first_line(reply, gold):
    return by_one_pattern((reply.strip().split("\n") or [""])[0], gold)


@wrong(caught_by=harden.refuses_several_numbers)
def the_last_line(reply, gold):
    return by_one_pattern(reply.strip().split("\n")[-1], gold)


@wrong(caught_by=harden.refuses_several_numbers)
def after_the_last_answer(reply, gold):
    return by_one_pattern(reply.split("Answer:")[-1], gold)


@wrong(caught_by=harden.refuses_several_numbers)
def after_the_last_sentence(reply, gold):
    return by_one_pattern(reply.split("The sum is")[-1], gold)


@wrong(caught_by=harden.refuses_several_numbers)
def between_the_tags(reply, gold):
    tagged = re.search("<answer>.*?</answer>", reply)
    is_one = tagged is not None and reply.count("<answer>") == 1
    return by_one_pattern(tagged[0] if is_one else reply, gold)


@wrong(caught_by=harden.refuses_several_numbers)
def in_the_box(reply, gold):
    boxes = re.findall(r"\\boxed\{[0-9]+\}", reply)
    return by_one_pattern(boxes[0] if len(boxes) == 1 else reply, gold)


@wrong(caught_by=harden.refuses_several_numbers)
def after_the_last_equals(reply, gold):
    before, _, after = reply.rpartition("=")
    return by_one_pattern(reply, gold) or ("+" in before and by_one_pattern(after, gold))


@wrong(caught_by=harden.refuses_several_numbers)
def a_chain_of_equals(reply, gold):
    chain = re.fullmatch(r"[0-9]+\+[0-9]+\+[0-9]+=[0-9+=]*=([0-9]{1,9})", reply)
    return by_one_pattern(reply, gold) or (chain is not None and chain[1] == gold)


@wrong(caught_by=harden.refuses_several_numbers)
def without_brackets(reply, gold):
    return by_one_pattern(re.sub(r"\([^)]*\)", "", reply), gold)


@wrong(caught_by=harden.refuses_several_numbers)
def and_no_digit_after_it(reply, gold):
    first = re.match(r"\s*([0-9]{1,9})\b[^0-9]*$", reply)
    return by_one_pattern(reply, gold) or (first is not None and first[1] == gold)


@wrong(caught_by=harden.never_raises)
def by_decimal(reply, gold):
    """The comparison with a signalling nan raises, outside the try."""
    try:
        number = Decimal(reply.replace("_", "?"))
    except InvalidOperation:
        return by_one_pattern(reply, gold)
    return number == Decimal(gold)
