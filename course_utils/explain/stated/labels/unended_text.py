"""Rows laid out as text without an end token, and replies that go on with the next turn."""

import re
from collections import Counter
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.labels.learnt_ends import complained

_LAYS_OUT = re.compile(
    r"(?:\bappend\(|\breturn\b|\btexts?['\"]?\s*[:=]).*(?:\.format\(|\bf['\"])", re.IGNORECASE
)
_MARK = re.compile(
    r"^\s*(?P<mark>###\s?(?:Instruction|Input|Question|Human|User)|Human|User|Question|Q)\s?:"
)
_ANY_END = re.compile(r"eos|</s>|<\|\w*end\w*\|>|<\|eot_id\|>|<end_of_turn>", re.IGNORECASE)
FEWEST = 3  # lines with one mark: that of the template, and those of a reply that asks on
NO_END = (
    "the text of a row is laid out by hand and holds no end token, so that no label teaches where "
    "a reply ends: the model writes on, into the next turn"
)
APPEND = (
    "append tokenizer.eos_token to each text (unless the last id of a tokenized row is its id "
    "already: recent TRL adds it), see that the last label is that id, and train again; a stop "
    "string or a penalty only hides it, and export and server are not to blame"
)


def text_without_end(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that fills a template, no end token anywhere, and replies that do not end."""
    code = beside.first(_LAYS_OUT)
    if code is None or log.kind() != "supervised" or beside.matching(_ANY_END):
        return
    marked = [(line, found["mark"]) for line in beside.words if (found := _MARK.match(line.text))]
    mark, count = Counter(mark for _, mark in marked).most_common(1)[0] if marked else ("", 0)
    told = complained(beside)
    if count < FEWEST + (told is None):
        return
    last = [line for line, one in marked if one == mark][-1]
    proof = [code[0].says, f"no end token stands in what was pasted; {mark} begins {count} lines"]
    proof.append(last.says)
    if told:
        proof.append(f"{told[0].where} says: {told[1].strip()}")
    yield Finding("end_missing", 8.6, code[0], tuple(proof), why=NO_END, advice=APPEND)
