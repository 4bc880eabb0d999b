"""Right and wrong answers of exercise 01.6."""

import torch

from course_utils.exercises.lesson_01 import situations
from course_utils.exercises.lesson_01.situations import NAMES
from tests.answers import answers_of

right, wrong = answers_of(situations.CHOICES)

ALIASES = {"a": "fp32", "b": "bf16", "c": "bf16", "d": "fp16", "e": "fp32", "f": "fp32"}

right({letter.upper(): pair for letter, pair in NAMES.items()})
right({letter: (ALIASES[letter], why) for letter, (_, why) in NAMES.items()})
right({letter: [getattr(torch, name), why.upper()] for letter, (name, why) in NAMES.items()})
wrong({"a": "fp32"}, caught_by=situations.six_pairs)
wrong(NAMES | {"g": ("float32", "range")}, caught_by=situations.six_pairs)
wrong(NAMES | {"b": ("range", "bfloat16")}, caught_by=situations.six_pairs)
wrong(NAMES | {"b": ("bfloat16", "overflow")}, caught_by=situations.six_pairs)
wrong(NAMES | {"b": ("float8", "range")}, caught_by=situations.six_pairs)
wrong({k: ("bfloat16", why) for k, (_, why) in NAMES.items()}, caught_by=situations.choice_survives)
wrong({k: ("float16", why) for k, (_, why) in NAMES.items()}, caught_by=situations.choice_survives)
wrong(NAMES | {"f": ("bfloat16", "both")}, caught_by=situations.choice_survives)
wrong(NAMES | {"d": ("bfloat16", "range")}, caught_by=situations.choice_survives)
wrong({k: ("float32", why) for k, (_, why) in NAMES.items()}, caught_by=situations.choice_is_narrow)
wrong(NAMES | {"b": ("float32", "range")}, caught_by=situations.choice_is_narrow)
wrong(NAMES | {"f": ("float32", "range")}, caught_by=situations.reason_holds)
wrong(NAMES | {"e": ("float32", "range")}, caught_by=situations.reason_holds)
wrong(NAMES | {"b": ("bfloat16", "both")}, caught_by=situations.reason_holds)
