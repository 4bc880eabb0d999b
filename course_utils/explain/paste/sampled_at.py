"""The temperature at which replies are sampled, as the settings of a paste give it."""

import re

from course_utils.explain.paste.beside import Beside, Setting

_OF_AN_EVALUATION = re.compile(  # verl's val_kwargs.temperature and the like
    r"\b(?:val|eval|test)\w*\.(?:\w+\.)*temperature['\"]?\s*[=:]\s*['\"]?(?P<value>\d[\d.]*)"
)


def sampled_at(beside: Beside) -> Setting | None:
    """The last temperature that is none of an evaluation."""
    for one in reversed(beside.of("temperature")):
        of_evaluations = {found["value"] for found in _OF_AN_EVALUATION.finditer(one.line.text)}
        if one.number is not None and one.value not in of_evaluations:
            return one
    return None
