"""Causes that are written out in a line of words: messages, signals, exit codes."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.reading import Entry, Line

# First match wins within a line.
_KNOWN = tuple(
    (key, re.compile(pattern, re.IGNORECASE))
    for key, pattern in (
        ("no_grad_fn", r"element 0 of tensors does not require grad"),
        ("no_grad_fn", r"None of the inputs have requires_grad=True"),
        ("unscale_half", r"Attempting to unscale FP16 gradients"),
        ("sampling_from_nan", r"probability tensor contains either .?inf"),
        ("sigfpe", r"Floating[- ]point exception|SIGFPE|exit ?code:? *(-8|136)\b|Signal 8\b"),
        ("mapped_file_shrank", r"\bBus error|SIGBUS|exit ?code:? *(-7|135)\b|Signal 7\b"),
        ("killed_for_memory", r"SIGKILL|exit ?code:? *(-9|137)\b|Signal 9\b|oom-?kill|^Killed$"),
        ("bad_memory_access", r"Segmentation fault|SIGSEGV|exit ?code:? *(-11|139)\b|Signal 11\b"),
        ("fp16_overflow", r"Minimum loss scale reached|Fp16 Grad Scale: +0\b"),
        ("scaler_search", r"overflow detected, setting loss scale|reducing (the )?loss scale"),
        ("cuda_memory", r"CUDA out of memory|OutOfMemoryError"),
        ("ranks_disagree", r"Watchdog caught collective operation timeout"),
        (
            "ranks_disagree",
            r"wait ?timeout after \d+ ?ms|connection (closed|reset) by (remote )?peer",
        ),
        ("unused_parameters", r"Expected to have finished reduction in the prior iteration"),
        ("anomaly", r"Function '\w+' returned nan values in its"),
        ("no_samples", r"num_samples should be a positive integer value, but got num_samples=0"),
        ("no_pad_token", r"tokenizer does not have a padding token|Cannot handle batch sizes > 1"),
        ("index_outside", r"index out of range in self|indexSelect.*Assertion|srcIndex <"),
        ("index_outside", r"device-side assert triggered|Target -?\d+ is out of bounds"),
        ("aborted", r"\bAborted\b|SIGABRT|exit ?code:? *(-6|134)\b|Signal 6\b"),
    )
)
_CODE = re.compile(r"^\s*(?:exit(?:ed)?(?: with)?(?: (?:code|status))?:?\s*)?(-?\d{1,3})\s*$", re.I)
_BY_CODE = {
    8: "sigfpe",
    7: "mapped_file_shrank",
    9: "killed_for_memory",
    11: "bad_memory_access",
    6: "aborted",
}
CERTAIN = 10.0


def findings_in(line: Line | Entry) -> list[Finding]:
    """What this line says outright; at most one thing.

    >>> [found.key for found in findings_in(Line("line 3", "Floating point exception"))]
    ['sigfpe']
    """
    for key, pattern in _KNOWN:
        if matched := pattern.search(line.text):
            return [Finding(key, CERTAIN, line, for_it=(f"{line.where} says: {matched[0]}",))]
    return []


def finding_of_code(text: str) -> Finding | None:
    """What a text says that is nothing but an exit code: -8, 136, "exit code 137"."""
    matched = _CODE.match(text.strip())
    if not matched:
        return None
    code = int(matched[1])
    number = -code if code < 0 else code - 128
    if number not in _BY_CODE:
        return None
    said = f"{code} is signal {number}" + (f": 128 + {number}" if code > 0 else "")
    return Finding(_BY_CODE[number], CERTAIN, Line("line 1", text.strip()), for_it=(said,))
