"""Ids of prompts that begin with two start tokens, beside rows of the training that have one."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.served.prompt_lengths import lengths

_HEADS_IDS = re.compile(r"\b\w*_?ids\b")
_ROW = re.compile(r"^\W*\[*\s*(?P<ids>\d+(?:\s*,\s*\d+){3,})")
_PICKED = re.compile(r"^(?:\['?\"?[a-z_]+'?\"?\]|\[[\d, ]*:[\d:, ]*\]|\[\d+\])+[^\[]*")
_STARTS = (1, 2, 128000, 151643, 100000, 0)
_OF_ANOTHER_TIME = re.compile(r"\b(?:expected|fixed|was|would|instead|before)\b", re.IGNORECASE)
_OF_TRAINING = re.compile(r"\btrain\w*\b", re.IGNORECASE)
ONE_SIDE = 9.3
AT_ONE_END = (
    "what is given to the model at inference begins with two start tokens ({id}, {id}), and the "
    "rows of the training begin with one: the template renders one, and the tokenizer puts another "
    "before the rendered text. Each prompt is one token longer than in training"
)
ONLY_THERE = (
    "add_special_tokens=False in the code that tokenizes the rendered prompts (or "
    "apply_chat_template with tokenize=True), and evaluate again; the model need not be trained "
    "again, and neither the padding nor the size of batches is to blame"
)


def at_one_end(beside: Beside, log: Log, code: list[Line]) -> Finding | None:
    """Rows of ids with two start tokens, and rows of the training with one of the same; `code` is
    what tokenizes the rendered text, if it is there."""
    rows = list(_rows(beside))
    twice = [(head, line, ids[0]) for head, line, ids in rows if _begins_twice(ids)]
    twice = [one for one in twice if not _OF_TRAINING.search(one[0].text)]
    for head, line, start in twice:
        if _OF_ANOTHER_TIME.search(head.text):
            continue
        for above, once, ids in rows:
            if _OF_TRAINING.search(above.text) and ids[0] == start != ids[1]:
                said = [x.says for x in (*code, line, once)]
                proof = (*said, *_longer_by_one(beside, log))
                of = ("double_bos", ONE_SIDE, line, proof)
                return Finding(*of, why=AT_ONE_END.format(id=start), advice=ONLY_THERE)
    return None


def _rows(beside: Beside) -> Iterator[tuple[Line, Line, list[int]]]:
    """Each list of ids without the padding before it, its line, and the line that names it."""
    head = None
    for line in beside.words:
        if _HEADS_IDS.search(line.text):
            head = line
        shown = line.text
        if head is line and "[" in shown:
            shown = _PICKED.sub("", shown[shown.index("[") :])
        found = _ROW.match(shown)
        if not found or head is None:
            head = head if head is line else None
            continue
        ids = [int(one) for one in found["ids"].split(",")]
        starts = [n for n, one in enumerate(ids) if one in _STARTS and ids[0] != one]
        at = starts[0] if starts and len(set(ids[: starts[0]])) == 1 else 0
        if len(ids) - at > 2:
            yield head, line, ids[at:]


def _begins_twice(ids: list[int]) -> bool:
    return ids[0] in _STARTS and ids[0] == ids[1] != ids[2] and ids[2] not in _STARTS


def _longer_by_one(beside: Beside, log: Log) -> list[str]:
    """Statistics of the lengths that are all one apart."""
    rows = lengths([*(line for line in beside.words), *log.entries])
    for one in rows:
        for other in rows:
            shared = [name for name in one.values if name in other.values]
            if len(shared) > 1 and all(one.values[n] - other.values[n] == 1 for n in shared):
                where = f"{one.line.where} and {other.line.where}"
                return [f"{where}: the prompts are one token apart in {', '.join(shared)}"]
    return []
