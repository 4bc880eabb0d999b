"""What a writer rules out of a resumed run: the rate, the step, the optimizer."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_STATE = r"(?:lr\b|learning[- ]rate|optimi[sz]er|scheduler|momentum|rng|dataloader)"
_RULED_OUT = re.compile(
    rf"\b(?:right|correct|same|identical|expected|proper) (?:\w+ ){{0,3}}?{_STATE}|"
    rf"{_STATE}[^.;\n]{{0,40}}?(?<!not )(?<!n't )(?<!never )\b"
    r"(?:(?:is|are|was|were|gets?|got) (?:all |both |also )?)?"
    r"(?:restored|correctly|loaded|resumed|continues?|as before|fine|right|correct|intact)\b",
    re.IGNORECASE,
)


def ruled_out(one: Finding, beside: Beside, log: Log) -> Finding:
    """A hint at a lost state is dropped where the writer says that the state came back."""
    if not one.is_look:
        return one
    is_said = any(_RULED_OUT.search(line.text) for line in beside.told())
    return replace(one, weight=0.0) if is_said else one
