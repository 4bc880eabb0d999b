"""Rewards of a reply, each from 0 to 1; config.yaml says how they are weighed."""

import re


def text_of(completion):
    return completion[-1]["content"].strip()


def parse(text):
    """The last whole number of a text, or None."""
    numbers = re.findall(r"\d+", text)
    return int(numbers[-1]) if numbers else None


def correct(completions, answer, **_):
    """1 for the right sum, 0 for any other reply."""
    return [float(parse(text_of(c)) == int(gold)) for c, gold in zip(completions, answer)]


def well_formed(completions, **_):
    """1 for a bare number: the frontend shows the reply as it is."""
    return [float(bool(re.fullmatch(r"\d{1,3}", text_of(c)))) for c in completions]
