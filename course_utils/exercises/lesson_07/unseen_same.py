"""Checks what a fix of exercise 07.8 must leave unchanged: rows and replies, token by token."""

from collections.abc import Callable, Mapping
from functools import cache

from course_utils.reproductions.lesson_07 import unseen_07, unseen_parts
from course_utils.reproductions.lesson_07.unseen_07 import Run

SEED = 0
QUESTIONS = (
    ("1+2=", "3"),
    ("17+25=", "42"),
    ("99+98=", "197"),
    ("50+60+70=", "180"),
    ("9000+1000=", "10000"),
    ("99999999999999999999+1=", "100000000000000000000"),
    (f"{'1+' * 40}2=", "42"),
)


@cache
def _start() -> Run:
    return unseen_07.Ticket("", unseen_parts.HEALTHY).fresh(SEED)


def same_rows(encode: Callable) -> str | None:
    """Prompt, whole reply and end; labels for the reply alone."""
    tokenizer = _start().tokenizer
    for question, reply in QUESTIONS:
        got = encode(question, reply, tokenizer)
        want = unseen_parts.encode_with_one_end(question, reply, tokenizer)
        for key, right in want.items():
            mine = [int(i) for i in got[key]] if isinstance(got, Mapping) and key in got else None
            if mine != right:
                return f"for {question}{reply} {key} is {mine}, it should be {right}"
    return None


def same_pairs(encode: Callable) -> str | None:
    """The same of replies that bring their end; each has one afterwards."""
    end = _start().tokenizer.eos_token
    return same_rows(encode) or same_rows(lambda q, a, t: encode(q, a + end, t))


def same_replies(answer: Callable) -> str | None:
    """Of a model that never stops, too: its replies run to the limit, whatever that is."""
    run, pad = _start(), _start().tokenizer.pad_token_id
    for limit, asked in ((5, ["1+2="]), (9, ["7+8=", "99+98=", "50+60+70="])):
        want = unseen_07.Ticket("", unseen_parts.HEALTHY).fresh(SEED).ask(asked, limit)
        with_fix = unseen_07.Ticket("", unseen_parts.HEALTHY | {"answer": answer}).fresh(SEED)
        for mine, right, question in zip(with_fix.ask(asked, limit), want, asked, strict=True):
            mine = unseen_07.without_padding(list(mine), pad)
            if mine != unseen_07.without_padding(right, pad):
                said = [run.tokenizer.decode(ids) for ids in (mine, right)]
                return f"an untrained model's reply to {question} is {said[0]!r}, not {said[1]!r}"
    return None
