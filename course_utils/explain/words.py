"""Causes that are written out in a line of words: messages, signals, exit codes."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.entries import Entry, Line

_DEATHS = (  # cause, signal's number, other words for it
    ("sigfpe", 8, r"Floating[- ]point exception|SIGFPE"),
    ("mapped_file_shrank", 7, r"\bBus error|SIGBUS"),
    (
        "killed_for_memory",
        9,
        r"SIGKILL|oom[-_ ]?kill|^Killed$|^\S+ line \d+:\s+\d+ Killed|"
        r"(exceed|reach|hit)\w* (its |the )?(pod |container )?memory limit",
    ),
    ("bad_memory_access", 11, r"Segmentation fault|SIGSEGV"),
    ("aborted", 6, r"\bAborted\b|SIGABRT"),
    ("terminated", 15, r"terminated by SIGTERM"),
    ("interrupted", 2, r"^\^?C?KeyboardInterrupt\b"),
)


def _death(number: int, words: str) -> str:
    return rf"{words}|exit ?code:? *\(?(-{number}|{128 + number})\b|\bSignal {number}\b"


# First match wins within a line.
_KNOWN = tuple(
    (key, re.compile(pattern, re.IGNORECASE))
    for key, pattern in (
        ("no_grad_fn", r"element 0 of tensors does not require grad"),
        ("no_grad_fn", r"None of the inputs have requires_grad=True"),
        ("unscale_half", r"Attempting to unscale FP16 gradients"),
        ("sampling_from_nan", r"probability tensor contains either .?inf"),
        ("ray_worker_died", r"(The actor is dead because|Worker exit detail:).{0,600}"),
        *((key, _death(number, words)) for key, number, words in _DEATHS[:-3]),
        ("fp16_overflow", r"Minimum loss scale reached|Fp16 Grad Scale: +0\b"),
        ("fp16_overflow", r"loss scale already at minimum[^.]*"),
        ("scaler_search", r"overflow detected, setting loss scale|reducing (the )?loss scale"),
        ("cuda_memory", r"CUDA out of memory|OutOfMemoryError"),
        ("ranks_disagree", r"Watchdog caught collective operati(on timeout)?"),
        ("ranks_disagree", r"Timed out waiting \d+ ?ms for (send|recv) operation"),
        (
            "ranks_disagree",
            r"wait ?timeout after \d+ ?ms|connection (closed|reset) by (remote )?peer",
        ),
        ("unused_parameters", r"Expected to have finished reduction in the prior iteration"),
        ("anomaly", r"Function '\w+' returned nan values in its"),
        ("no_samples", r"num_samples should be a positive integer value, but got num_samples=0"),
        ("no_pad_id", r"Cannot handle batch sizes > 1 if no padding token"),
        ("no_pad_token", r"tokenizer does not have a padding token"),
        ("index_outside", r"index out of range in self|indexSelect.*Assertion|srcIndex <"),
        ("index_outside", r"device-side assert triggered|Target -?\d+ is out of bounds"),
        ("kl_negative", r"KL divergence is starting to become negative: *-?[\d.]*\d"),
        ("running_mean", r"grad_norm:? *\d+\.?\d* \((nan|inf)\)"),
        ("update_skipped", r"\(norm=\d+\.?\d*\); skipping optimizer step"),
        *((key, _death(number, words)) for key, number, words in _DEATHS[-3:]),
    )
)
_CODE = re.compile(r"^\s*(?:exit(?:ed)?(?: with)?(?: (?:code|status))?:?\s*)?(-?\d{1,3})\s*$", re.I)
_BY_SIGNAL = {number: key for key, number, _ in _DEATHS}
_BY_CODE = {0: "code_0", 1: "python_error", 124: "timed_out", 255: "code_255"}
_ASKED = re.compile(r"Tried to allocate ([\d.]+) ([KMG]i?B)")
_FREE = re.compile(r"([\d.]+) ([KMG]i?B) (?:is )?free")
_BYTES = {"K": 2**10, "M": 2**20, "G": 2**30}
CERTAIN, WEAK = 10.0, 5.5
_WEIGHTS = {"running_mean": 3.0, "scaler_search": 4.0, "update_skipped": WEAK}


def findings_in(line: Line | Entry) -> list[Finding]:
    """What this line says outright; at most one thing.

    >>> [found.key for found in findings_in(Line("line 3", "Floating point exception"))]
    ['sigfpe']
    """
    for key, pattern in _KNOWN:
        if matched := pattern.search(line.text):
            said = [f"{line.where} says: {matched[0]}"]
            if key == "cuda_memory" and (odd := _free_above_asked(line.text)):
                key, said = "memory_odd", [*said, odd]
            return [Finding(key, _WEIGHTS.get(key, CERTAIN), line, for_it=tuple(said))]
    return []


def _free_above_asked(text: str) -> str:
    """What an out-of-memory message says of itself, if more was free than asked; else ""."""
    asked, free = _ASKED.search(text), _FREE.search(text)
    if not asked or not free or _bytes(free) <= _bytes(asked):
        return ""
    return f"it asked for {asked[1]} {asked[2]} where {free[1]} {free[2]} were free"


def _bytes(matched: re.Match) -> float:
    return float(matched[1]) * _BYTES[matched[2][0].upper()]


def finding_of_code(text: str) -> Finding | None:
    """What a text says that is nothing but an exit code: -8, 136, "exit code 137"."""
    matched = _CODE.match(text.strip())
    if not matched:
        return None
    code = int(matched[1])
    number = -code if code < 0 else code - 128
    key = _BY_CODE.get(code) or _BY_SIGNAL.get(number)
    if key is None:
        return None
    said = f"the exit code is {code}"
    if code not in _BY_CODE:
        said = f"{code} is signal {number}" + (f": 128 + {number}" if code > 0 else "")
    return Finding(key, CERTAIN, Line("line 1", text.strip()), for_it=(said,))
