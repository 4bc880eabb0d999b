"""Where the planted change of a fault stands, told by its declaration alone."""

import re
from collections import Counter

from course_utils.oncall.binaries import HANDED_OVER
from course_utils.oncall.declare import Case, Edit, EditRows, Fault

ROWS, TENSORS = "rows or ids of the data", "a tensor, a checkpoint or a tokenizer"
NUMBER, WORD, CODE = "a number of config.yaml", "another setting of config.yaml", "code"
PLACES = (ROWS, TENSORS, NUMBER, WORD, CODE)
NUMBERS = re.compile(r"(?<![\w.])-?\d[\d.]*(?:e[-+]?\d+)?")


def place_of(fault: Fault) -> str:
    """The place of a fault; it is code where any of its edits is."""
    if any(isinstance(edit, Edit) and edit.file.endswith(".py") for edit in fault.plant):
        return CODE
    if any(isinstance(edit, EditRows) for edit in fault.plant):
        return ROWS
    if any(edit.file.endswith(HANDED_OVER) for edit in fault.plant):
        return TENSORS
    return NUMBER if any(_numbers(edit.old) != _numbers(edit.new) for edit in fault.plant) else WORD


def _numbers(text: str) -> Counter:
    """The numbers of settings, without those of remarks."""
    return Counter(NUMBERS.findall("\n".join(line.partition("#")[0] for line in text.splitlines())))


def counted(cases: list[Case]) -> Counter:
    """How many faults stand in each place."""
    return Counter(place_of(fault) for case in cases for fault in case.faults)


def share_outside_code(cases: list[Case]) -> float:
    """The share of faults that stand in no line of code."""
    found = counted(cases)
    return 1 - found[CODE] / found.total()
