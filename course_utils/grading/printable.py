"""Makes untrusted text safe to show: in a terminal, a page, a spreadsheet, an XML file."""

import unicodedata

# Controls, formatting (also what turns the direction of writing), lone surrogates, private use,
# unassigned, and the two line ends that only Unicode knows.
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")  # what a spreadsheet may run


def printable(text: str, *, max_chars: int = 500, keep: str = "") -> str:
    r"""`text` with every invisible character written as an escape, cut at `max_chars`.

    >>> printable("red \x1b[31m and \ud800")
    'red \\x1b[31m and \\ud800'
    """
    cut = text[:max_chars]
    shown = "".join(c if c in keep or not _is_hidden(c) else _escape(c) for c in cut)
    return f"{shown} ... ({len(text)} characters)" if len(text) > max_chars else shown


def in_spreadsheet(text: str) -> str:
    """One cell of a CSV file that no spreadsheet reads as a formula.

    >>> in_spreadsheet("=cmd|'/c calc'!A0")
    "'=cmd|'/c calc'!A0"
    """
    shown = printable(text, max_chars=2000)
    return f"'{shown}" if shown.lstrip().startswith(FORMULA) else shown


def as_text(text: str) -> str:
    """`text` as UTF-8 can hold it: a lone surrogate becomes the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in HIDDEN


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
