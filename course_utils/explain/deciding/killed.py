"""Who killed a process: what speaks of memory, or of another sender, or nobody."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_OF_MEMORY = re.compile(r"\boom\b|oom[-_ ]?kill|out of memory|memory limit|memory usage", re.I)
_FILLS_THE_MACHINE = re.compile(
    r"(?<!no_)offload(?!\w*['\"]?\s*[:=]\s*['\"]?(?:false|none|null|no)\b)|"
    r"\b(?:cpu|host|system|node)[ -](?:virtual )?(?:memory|ram)\b|\bswap\b|\bRAM\b",
    re.IGNORECASE,
)
_SENDER = re.compile(
    r"[^.;\n]{0,40}\b(?:time limit|wall-?time|preempt\w*|scancel\w*|evict\w*|spot instance)\b"
    r"[^.;\n]{0,40}",
    re.IGNORECASE,
)
A_RUN = 3  # entries


def sent_by(one: Finding, beside: Beside, log: Log) -> Finding:
    """The finding with what speaks of memory, or as one of a run that nobody says who killed."""
    if not (found := _OF_MEMORY.search(one.at.text)) and not beside.matching(_OF_MEMORY):
        is_open = log.num_entries >= A_RUN and not beside.matching(_FILLS_THE_MACHINE)
        return _killed_in_a_run(one, beside) if is_open else one
    said = () if found else (f"{(at := beside.matching(_OF_MEMORY))[0].where} says: {at[1]}",)
    why = "the operating system or the container ended the process (SIGKILL) for its memory"
    return replace(one, for_it=(*one.for_it, *said), why=why)


def _killed_in_a_run(one: Finding, beside: Beside) -> Finding:
    """Killed where nothing speaks of memory: by an unknown sender, or one that is spoken of."""
    sender = beside.matching(_SENDER)
    if sender is None:
        return replace(one, key="killed_from_outside")
    said = f"{sender[0].where} says: {sender[1].strip()}"
    why = f"the process was killed from outside (SIGKILL): {sender[0].where} tells who may have"
    why += " sent it"
    return replace(one, key="killed_from_outside", for_it=(*one.for_it, said), why=why)
