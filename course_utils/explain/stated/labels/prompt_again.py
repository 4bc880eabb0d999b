"""Rows of a batch that are shown as text, in which the prompt stands twice before the reply."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_SHOWS = re.compile(
    r"(?!.*(?:generat|\bouts?\b|output|sampl))"
    r"(?:\bdecode\(.*(?:(?:chosen|rejected|prompt)_)?input_ids\b|"
    r"^\W*(?:chosen|rejected)_inputs?\s*:|^\W*inputs\s*:\s*$|"
    r".*\b(?:prompt|chosen|rejected)_(?:input_)?ids\b.*(?:decoded|as text)\b.*:?\s*$|"
    r"^\W*(?:\w+ )?(?:decoded|detokeni[sz]ed)\b.*\b(?:row|batch|example|pair|chosen|"
    r"rejected)\b.*:\s*$|"
    r".*\b(?:row|batch|example|pair)\b.*\b(?:decoded|detokeni[sz]ed)\b\W*$)",
    re.IGNORECASE,
)
_MAY_SHOW = re.compile(r"decode|input|as text|detoken", re.IGNORECASE)  # fast, and first
_SHOWS_LABELS = re.compile(r"\bdecode\(.*labels\b.*-100|^\W*(?:chosen_|rejected_)?labels\s*:", re.I)
_SPECIAL = re.compile(
    r"<[|\uff5c/]?[\w\u2581 -]{1,30}[|\uff5c]?>|\[/?INST\]|\\[nt]|### ?\w+:?|(?<![\w.,;])(?:user|"
    r"assistant|system|human|model)(?=\s*(?:$|[A-Z\u4e00-\u9fff]|\\n))",
    re.MULTILINE,
)
_TWICE = re.compile(r"(?<!\w)(?P<text>\w[^\n]{14,400}?\S)\W+(?P=text)(?!\w)")
_OF_USER = re.compile(
    r"<\|?(?:im_start\|>user|user\|?>|start_of_turn>user)|\[INST\]|### ?(?:User|Human)"
)
MOST = 12  # lines of a row
FEWEST, REPLY, SURE = 4, 2, 9.2  # words; words of a reply; the row itself
TWICE = (
    'the prompt stands twice in each row: it reads "{text}" and the same again before the reply. '
    "What is given as the reply (chosen, rejected) holds the user's turn already, and the prompt "
    "is put before it once more"
)
IN_LABELS = "; the second one is in the labels, so that the model learns to repeat its user"
ONCE = (
    "prompt = the chat template over all messages but the last, up to where the reply begins; "
    "chosen and rejected = the last assistant message alone (or whole messages without a prompt "
    "column); decode one row, then train again from the start"
)


def prompt_again(beside: Beside, log: Log) -> Iterator[Finding]:
    """A decoded row of training whose words before the reply are twice the same ones."""
    lines = beside.words
    for number, line in enumerate(lines):
        if not (_MAY_SHOW.search(line.text) and _SHOWS.search(line.text)):
            continue
        row = _row(lines[number : number + MOST])
        found = _TWICE.search(words := _plain(row))
        if not found or len(found["text"].split()) < FEWEST:
            continue
        if not re.search(r"[^\W\d_]{2}", found["text"]):
            continue  # ids: the padding of one row, or the begin of the next one
        if len(re.findall(r"\w+", words[found.end() :])) < REPLY:
            continue  # the second one is the reply: a task in which a text may stay as it is
        text = found["text"][:80]
        proof = [f'{line.where} shows a row: "{" ".join(row.split())[:120]}"']
        why = TWICE.format(text=text)
        if learnt := _learnt(lines, text):
            proof.append(f"{learnt.where}: the labels of it begin with the user's turn")
            why += IN_LABELS
        yield Finding("prompt_twice", SURE, line, tuple(proof), why=why, advice=ONCE)
        return


def _row(lines: list[Line]) -> str:
    """What a line shows on itself or below it, up to the next command."""
    shown = [lines[0].text.rpartition("inputs:")[2] if "inputs:" in lines[0].text else ""]
    for line in lines[1:]:
        if re.match(r"(?:>>>|\$|print\(|In \[)|.*\bdecode\(|\{'loss'|\w+:\s*$", line.text):
            break
        shown.append(line.text)
    return "\n".join(shown)


def _plain(row: str) -> str:
    """The words of a row, without what a template puts between them.

    >>> _plain("<s>[INST] Who are you? [/INST]<|user|>")
    'Who are you?'
    """
    return " ".join(_SPECIAL.sub(" ", row).split())


def _learnt(lines: list[Line], text: str) -> Line | None:
    """The command that shows labels, where they begin with the user's turn."""
    for number, line in enumerate(lines):
        if _SHOWS_LABELS.search(line.text):
            row = _row(lines[number : number + MOST])
            return line if _OF_USER.search(row) and text[:20] in row else None
    return None
