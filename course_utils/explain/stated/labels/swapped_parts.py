"""A mask by two markers of turns that were given the wrong way round."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_USER = r"(?:\buser\b|\bhuman\b|instruction|\binput\b|question|\[INST\])"
_ASSISTANT = r"(?:assistant|\bmodel\b|\bgpt\b|response|\banswer\b|\[/INST\])"
_OF_REPLY = re.compile(
    rf"\b(?:response_part|response_template)['\"]?\s*[=:]\s*(?P<q>['\"])(?:(?!(?P=q)).)*{_USER}"
    rf"(?:(?!(?P=q)|{_ASSISTANT}).)*(?P=q)",
    re.IGNORECASE,
)
_OF_PROMPT = re.compile(
    rf"\b(?:instruction_part|instruction_template)['\"]?\s*[=:]\s*(?P<q>['\"])"
    rf"(?:(?!(?P=q)).)*{_ASSISTANT}(?:(?!(?P=q)|{_USER}).)*(?P=q)",
    re.IGNORECASE,
)
SURE = 9.4
SWAPPED = (
    "the two markers of the mask are exchanged: the reply is said to begin with the header of the "
    "user's turn, and the prompt with that of the assistant's. So the user's turns are learnt and "
    "the assistant's have no label: the model learns to talk like a user"
)
EXCHANGE = (
    "exchange the two, print the decoded labels of one row (only the assistant's turns must be "
    "left in them), and train again from the start; rate, rank and prompts do not mend it"
)


def parts_exchanged(beside: Beside, log: Log) -> Iterator[Finding]:
    """`response_part` with the user's header, and `instruction_part` with the assistant's."""
    reply, prompt = beside.matching(_OF_REPLY), beside.matching(_OF_PROMPT)
    if reply and prompt:
        proof = dict.fromkeys(
            f"{line.where} says: {words.strip()}" for line, words in (reply, prompt)
        )
        yield Finding(
            "prompts_learnt_alone", SURE, reply[0], tuple(proof), why=SWAPPED, advice=EXCHANGE
        )
