"""The replies of the rows are of a role that is not among those that are trained."""

import re
from collections import Counter
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_TRAINS = re.compile(r"^\W*roles_to_train['\"]?\s*[:=]\s*\[(?P<roles>[^\]]+)\]")
_ROLE = re.compile(r"['\"](?:from|role)['\"]\s*:\s*['\"](?P<role>[\w-]+)['\"]")
_MAPS = re.compile(r"^\W*roles['\"]?\s*:\s*(?:$|\{)")
_NONE_COUNTS = re.compile(r"\btotal_supervised_tokens\W+0(?![\d.])")
_NAME = re.compile(r"[\w-]+")
KNOWN = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant"}
ASKS = {"user", "system", "tool", "input", "context"}  # roles that no one trains on
SURE = 9.6
NOT_TRAINED = (
    'no token counts: the replies are of the role "{role}", and only {trained} is trained. Nothing '
    "maps one to the other, so that each label is -100 and the loss a mean over no token"
)
MAP_IT = (
    'map the role (axolotl: roles, with "{role}" under {trained}), or rename it in the rows; see '
    "that the prepared rows have labels for the replies and their ends; begin anew, from weights "
    "that are not nan"
)


def role_not_trained(beside: Beside, _log: Log) -> Iterator[Finding]:
    """A row whose second role is mapped to none that is trained, and a count of 0 labels."""
    none, trains = beside.matching(_NONE_COUNTS), beside.first(_TRAINS)
    if none is None or trains is None or beside.matching(_MAPS):
        return
    trained = _NAME.findall(trains[1]["roles"])
    for line, roles in _rows(beside):
        others = [role for role in roles if KNOWN.get(role, role) not in (*ASKS, *trained)]
        if not others or any(KNOWN.get(role, role) in trained for role in roles):
            continue
        role, names = Counter(others).most_common(1)[0][0], " or ".join(f'"{t}"' for t in trained)
        proof = (trains[0].says, f'{line.where} shows a turn of "{role}"', none[0].says)
        why, advice = (text.format(role=role, trained=names) for text in (NOT_TRAINED, MAP_IT))
        yield Finding("labels_masked", SURE, line, proof, why=why, advice=advice)
        return


def _rows(beside: Beside) -> Iterator[tuple[Line, list[str]]]:
    """The roles of each row that is shown, in the notation of its file."""
    for line in beside.words:
        if roles := [found["role"] for found in _ROLE.finditer(line.text)]:
            yield line, roles
