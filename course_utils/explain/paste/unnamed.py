"""Printed tensors without a name: a loss, as long as nothing else is one or was asked for."""

import re

from course_utils.explain.paste.entries import Entry

_EXPRESSION = re.compile(r"^(?:>>>\s*)?(?!.*loss)(?!tensor\()[\w.\[\]]+[.(].*\)$", re.IGNORECASE)
NAME = "tensor"


class Unnamed:
    """Remembers whether a loss had a name, and the line before."""

    def __init__(self):
        self._is_named, self._before = False, ""

    def without_others(self, found: list[Entry], text: str) -> list[Entry]:
        """The entries of a line without a tensor that is no loss."""
        asked, self._before = bool(_EXPRESSION.match(self._before.strip())), text
        names = [one.names.get("loss", NAME) for one in found]
        if any(name != NAME for name in names):
            self._is_named = True
            return found
        is_other = asked or self._is_named
        return [one for one in found if not (is_other and one.names.get("loss") == NAME)]
