"""Parses untrusted JSON, and checks its size and depth first."""

import json
from collections import Counter

MAX_CONTAINERS, MAX_ITEMS = 300_000, 2_000_000  # parsed, that is below 500 MB
MAX_DEPTH, MAX_DIGITS = 60, 1_000
NO_NOTEBOOK = "is not a notebook"


class Refused(Exception):
    """The JSON is refused: what was seen, and why."""

    def __init__(self, saw: str, why: str) -> None:
        super().__init__(saw, why)
        self.saw, self.why = saw, why


def parse(data: bytes) -> object:
    """The value in `data`.

    Raises:
        Refused: it is not JSON, too large once parsed, or nested too deeply.
    """
    containers, items = data.count(b"[") + data.count(b"{"), data.count(b",")
    if containers > MAX_CONTAINERS or items > MAX_ITEMS:
        raise Refused("is too large", f"it holds {containers} lists and {items} commas")
    try:
        text = data.decode(json.detect_encoding(data))
        hooks = {"parse_constant": _no_number, "parse_int": _int}
        parsed = json.loads(text, object_pairs_hook=_unique, **hooks)
        _check_depth(parsed)
        return parsed
    except UnicodeDecodeError as error:
        raise Refused(NO_NOTEBOOK, "a notebook is text, this is not") from error
    except json.JSONDecodeError as error:
        why = f"its JSON breaks at line {error.lineno}: {error.msg}; it may have been cut off"
        raise Refused(NO_NOTEBOOK, why) from error
    except RecursionError as error:
        raise Refused(NO_NOTEBOOK, f"it is nested more than {MAX_DEPTH} levels deep") from error
    except ValueError as error:  # a key twice, NaN, a number of 5,000 digits
        raise Refused(NO_NOTEBOOK, str(error)) from error


def _unique(pairs: list[tuple[str, object]]) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs):
        key = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {key!r} stands twice in one object")
    return found


def _int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"it holds a number of {len(text)} digits")
    return int(text)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [item for one in level if isinstance(one, (dict, list)) for item in _items(one)]
        if not level:
            return
    raise Refused(NO_NOTEBOOK, f"it is nested more than {MAX_DEPTH} levels deep")


def _items(value: dict | list):
    return value.values() if isinstance(value, dict) else value
