"""Exercise 01.6: the narrowest format for six situations, each choice and reason run.

A reason is checked by giving a failing format what it is said to lack: float32's exponent bits
("range") or float32's mantissa bits ("precision"), and running the situation again.
"""

import math
from dataclasses import replace
from functools import cache

from course_utils.checks.declare import Criterion, Exercise
from course_utils.numerics import FloatFormat, float_format

NARROW, WIDE = ("bfloat16", "float16"), "float32"
REASONS = ("range", "precision", "both")
NAMED = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32"}


def small_updates(fmt: FloatFormat) -> bool:
    weight, update = 1.0, fmt.round(1e-6)
    for _ in range(200):
        weight = fmt.round(weight - update)
    return math.isclose(1 - weight, 2e-4, rel_tol=0.05)


def large_activation(fmt: FloatFormat) -> bool:
    return math.isclose(fmt.round(1e5), 1e5, rel_tol=0.01)


def tiny_gradient(fmt: FloatFormat) -> bool:
    return math.isclose(fmt.round(1e-13), 1e-13, rel_tol=0.01)


def close_log_probs(fmt: FloatFormat) -> bool:
    pairs = ((-5.0, -5.01), (-7.3, -7.29), (-4.5, -4.52))
    ratios = (
        (math.exp(new - old), math.exp(fmt.round(new) - fmt.round(old))) for old, new in pairs
    )
    return all(abs(want - got) < 0.004 for want, got in ratios)


def token_positions(fmt: FloatFormat) -> bool:
    return all(fmt.round(float(n)) == n for n in (257, 2049, 4095, 7999))


def adam_memory(fmt: FloatFormat) -> bool:
    v = fmt.round(1e-10)
    for _ in range(200):
        v = fmt.round(0.999 * v)
    return math.isclose(v, 1e-10 * 0.999**200, rel_tol=0.02)


SITUATIONS = {
    "a": small_updates,
    "b": large_activation,
    "c": tiny_gradient,
    "d": close_log_probs,
    "e": token_positions,
    "f": adam_memory,
}


@cache
def survives(letter: str, format_name: str) -> bool:
    return SITUATIONS[letter](float_format(format_name))


def _lacks(letter: str, format_name: str) -> set[str]:
    """What a failing format lacks: the one repair that is enough, or both when none is."""
    fmt, wide = float_format(format_name), float_format(WIDE)
    repairs = {
        "range": replace(fmt, exponent_bits=wide.exponent_bits),
        "precision": replace(fmt, mantissa_bits=wide.mantissa_bits),
    }
    enough = {name for name, repaired in repairs.items() if SITUATIONS[letter](repaired)}
    return enough or set(repairs)


@cache
def reason_by_running(letter: str) -> str:
    """What the 16-bit formats that fail lack: "range", "precision" or "both"."""
    lacking = [_lacks(letter, name) for name in NARROW if not survives(letter, name)]
    found = set().union(*lacking)
    return "both" if len(found) > 1 else found.pop()


def _format_name(answer: object) -> str:
    """The name of a format given as name, alias or dtype; the answer itself when it is none."""
    plain = str(answer).removeprefix("torch.").lower()
    plain = NAMED.get(plain, plain)
    return plain if plain in (*NARROW, WIDE) else str(answer)


def _by_letter(choices: dict) -> dict:
    return {_word(letter): entry for letter, entry in choices.items()}


def six_pairs(choices: dict) -> str | None:
    choices = _by_letter(choices)
    for letter in choices:
        if letter not in SITUATIONS:
            return f"there is no situation {letter!r}; they are a to f"
    for letter in SITUATIONS:
        entry = choices.get(letter)
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            return f"situation {letter} has {entry!r}, where a pair (format, reason) is asked"
        if _format_name(entry[0]) not in (*NARROW, WIDE):
            return f"situation {letter}: {entry[0]!r} is none of float32, bfloat16 and float16"
        if _word(entry[1]) not in REASONS:
            return f"situation {letter}: {entry[1]!r} is none of {', '.join(REASONS)}"
    return None


def _word(reason: object) -> str:
    return str(reason).strip().lower()


def _each(choices: dict):
    for letter in SITUATIONS:
        answer, reason = _by_letter(choices)[letter]
        yield letter, _format_name(answer), _word(reason)


def choice_survives(choices) -> str | None:
    for letter, name, _ in _each(choices):
        if not survives(letter, name):
            return f"situation {letter} fails in {name} when it is run"
    return None


def choice_is_narrow(choices) -> str | None:
    for letter, name, _ in _each(choices):
        if name == WIDE and any(survives(letter, narrow) for narrow in NARROW):
            return f"situation {letter}: {name} survives, and so does a format of 16 bits"
    return None


def reason_holds(choices) -> str | None:
    for letter, _, reason in _each(choices):
        if reason != reason_by_running(letter):
            return f"situation {letter}: you say {reason!r}; {_refuted(letter, reason)}"
    return None


def _refuted(letter: str, reason: str) -> str:
    """What the runs say to a wrong reason."""
    part = {"range": "exponent", "precision": "mantissa"}.get(reason)
    if part is None:
        return "one of 'range' and 'precision' is enough for each format that fails"
    failing = (name for name in NARROW if not survives(letter, name))
    name = next(name for name in failing if _lacks(letter, name) != {reason})
    return f"{name} with the {part} bits of {WIDE} still fails"


NAMES = {
    "a": ("float32", "precision"),
    "b": ("bfloat16", "range"),
    "c": ("bfloat16", "range"),
    "d": ("float16", "precision"),
    "e": ("float32", "precision"),
    "f": ("float32", "both"),
}


CHOICES = Exercise(
    id="01.6",
    name="CHOICES",
    title="A format for each situation",
    minutes=5,
    difficulty="six choices",
    points=4,
    reads="choices",
    expects=(dict,),
    form=six_pairs,
    hints=(
        "For each: is the number too large or too small, or is a difference too small to be kept?",
        "Compare the largest number, the smallest, and the gap at the value in question. When both "
        "16-bit formats fail, ask of each what it lacks.",
        "Two are about range, and three about the gap. In one, each 16-bit format fails for its "
        "own reason. Which number is rounded to 0, and which change is lost?",
    ),
    criteria=(
        Criterion(
            "Every situation survives its run in the format chosen for it.",
            choice_survives,
            why="more range avoids inf and 0, more precision avoids standing still",
            next="put the numbers of that situation through float_format(name).round",
        ),
        Criterion(
            "No choice is wider than it has to be.",
            choice_is_narrow,
            why="float32 everywhere costs twice the memory and most of the speed",
            next="which 16-bit format has what this situation needs?",
        ),
        Criterion(
            "Each reason names what the failing 16-bit formats need.",
            reason_holds,
            why="with the wrong reason you choose the wrong format next time",
            next="range means exponent bits, precision means mantissa bits; a run may lack both",
        ),
    ),
    answer=NAMES,
)
