"""A printed row whose reply follows the prompt in the midst of a word: a limit cut the prompt."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log

_LABELS = re.compile(r"^\W*(?:labels?|targets?)\s*:\s*(?P<text>.*)$", re.IGNORECASE)
BEGINNING, FEWEST = 40, 16  # letters of a reply, by which it is found in its row
SHOWN = 9.2
CUT = (
    "the rows are longer than {limit} and their prompts are cut there: the printed row goes from "
    "the midst of its prompt ({before}) straight into the reply. What stands at the end of a "
    "prompt, the question and the header of the reply's turn, is gone, so that the model learns "
    "to answer what it cannot see"
)
LONGER = (
    "a limit that holds prompt and reply in tokens (cutoff_len, max_length), a shorter prompt, or "
    "what is asked in front of the long part; look at the printed row again, and train anew. "
    "Rank, rate and number of epochs are not to blame"
)


def reply_after_a_cut(beside: Beside, log: Log) -> Iterator[Finding]:
    """The text of the labels, and the same text in a line where letters stand right before it."""
    lines = sorted(beside.words, key=place)
    limit = beside.printed("max_length")
    for reply_line, reply in _learnt(lines):
        for line in lines:
            before, found, _ = line.text.partition(reply[:BEGINNING])
            if line is reply_line or not found or not before[-1:].isalnum():
                continue
            shown = f"...{before[-24:]}|{reply[:16]}..."
            proof = [f"{line.where} joins them: {shown}", reply_line.says]
            proof += [limit.said] if limit else []
            said = f"{limit.written} = {limit.value}" if limit else "their limit"
            why = CUT.format(limit=said, before=shown)
            yield Finding("too_long", SHOWN, line, tuple(proof), why=why, advice=LONGER)
            return


def _learnt(lines: list[Line]) -> Iterator[tuple[Line, str]]:
    """The text that stands behind `labels:`, on that line or the next."""
    for number, line in enumerate(lines):
        if not (found := _LABELS.match(line.text)):
            continue
        texts = [(line, found["text"]), *((low, low.text) for low in lines[number + 1 :][:1])]
        for at, text in texts:
            if len(text.strip()) >= FEWEST and not text.strip().startswith("["):
                yield at, text.strip()
                break
