"""Converts rows to JSON lines and back, and settings to JSON."""

import json


def as_lines(rows: list[dict]) -> str:
    r"""One JSON object per line.

    >>> as_lines([{"a": 1}])
    '{"a": 1}\n'
    """
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def as_rows(text: str) -> list[dict]:
    r"""The objects of JSON lines; blank lines are left out.

    Raises:
        ValueError: a line is not a JSON object.

    >>> as_rows('{"a": 1}\n\n')
    [{'a': 1}]
    """
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("a line is no JSON object")
    return rows


def as_json(data: object) -> str:
    """Settings, or a tokenizer, in the one layout that all of a ticket's have."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
