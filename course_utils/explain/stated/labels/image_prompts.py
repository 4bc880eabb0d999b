"""A prompt's length that is counted before its images are put in as tokens."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_PROCESSES = re.compile(r"\b\w*proc\w*\((?=.*\bimages?\s*=)")
_IS_AN_OPENING = re.compile(r"\b\w*proc\w*\(\s*$")
_IMAGES = re.compile(r"^\s*images?\s*=")
_COUNTS = re.compile(
    r"(?:(?P<name>\w+)\s*=\s*\[?\s*)?\blen\(\s*(?:self\.)?(?:\w+\.)*tok(?:enizer|enize)?\b"
    r"(?:\.encode|\.tokenize)?\((?![^)]*image)|"
    r"(?P<also>\w+)\s*=\s*(?:self\.)?(?:\w+\.)*tok(?:enizer)?\((?![^)]*image)[^)]*\)"
    r"(?:\.input_ids|\[['\"]input_ids['\"]\])\.(?:shape\[|size\()"
)
_OF_A_PROMPT = re.compile(r"prompt|question|prefix|source|user|\bp\b|instruction", re.IGNORECASE)
_HIDES = re.compile(
    r"labels?\w*\[[^\]]*:\s*(?P<until>[^\]]*(?:\([^()]*(?:\([^()]*\))?[^()]*\)[^\]]*)?).*\]\s*=\s*"
    r"(?:-100|ignore\w*|self\.ignore\w*|IGNORE\w*)"
)
_LEARNT = re.compile(
    r"\b(?:loss|label(?:led)?|supervised|trained|target|learnt|unmasked) ?_?tokens?\b\D{0,20}"
    r"(?P<counts>\[?\d[\d\s,]*\]?)",
    re.IGNORECASE,
)
_GRID = re.compile(r"\bimage_grid_thw\b|\bnum_image_tokens\b|image_token|<\|?image|image_pad", re.I)
_PUT_IN_BY_HAND = re.compile(
    r"(?:image|img)\w*['\"]?\]?\s*\*\s*\(?\w|\.replace\(.*image.*\*", re.IGNORECASE
)
A_REPLY, SHOWN, SAID = 200, 9.2, 8.0  # tokens that a short answer does not have
TOO_SHORT = (
    "the prompt is hidden from the loss only in part: its length is counted by the tokenizer on "
    "the text, where each image is one placeholder, and in the rows that are trained on the "
    "processor has put in hundreds of tokens for each. So the mask ends inside the image, and the "
    "rest of its placeholders and the question are learnt, beside which the answer weighs little"
)
COUNT_THERE = (
    "count the prompt with the processor and its images (processor(text=prompt, images=images)), "
    "or find the assistant's header in input_ids; hide the image tokens as well; see that the "
    "labels of a row are as many as its answer has tokens, and train again"
)


def counted_without_the_images(beside: Beside, log: Log) -> Iterator[Finding]:
    """A collator that masks as many tokens as the tokenizer, without images, gives the prompt."""
    lines = beside.words
    made, masked = _made(lines), _masked(lines)
    counts = _learnt(beside)
    if beside.matching(_PUT_IN_BY_HAND):
        return  # the text has as many placeholders as the image has tokens
    if made is None or masked is None or (counts and max(counts[1]) < A_REPLY):
        return
    proof = [one.says for one in (*masked, made)]
    if counts:
        shown = ", ".join(map(str, counts[1][:4]))
        proof.append(f"{counts[0].where}: {shown} tokens of a row are in the loss")
    if grid := beside.matching(_GRID):
        proof.append(f"{grid[0].where} says: {grid[0].text.strip()[:80]}")
    of = ("prompt_in_loss", SHOWN if counts else SAID, masked[0], tuple(proof))
    yield Finding(*of, why=TOO_SHORT, advice=COUNT_THERE)


def _made(lines: list[Line]) -> Line | None:
    """The line in which the processor makes the rows of text and images."""
    for number, line in enumerate(lines):
        if _PROCESSES.search(line.text):
            return line
        if _IS_AN_OPENING.search(line.text):
            below = lines[number + 1 : number + 5]
            if any(_IMAGES.match(one.text) for one in below):
                return line
    return None


def _masked(lines: list[Line]) -> tuple[Line, ...] | None:
    """The lines that count the prompt without images and hide so many labels."""
    named: dict[str, Line] = {}
    for line in lines:
        if (found := _COUNTS.search(line.text)) and _OF_A_PROMPT.search(line.text):
            named[found["name"] or found["also"] or ""] = line
        hidden = _HIDES.search(line.text)
        if hidden is None:
            continue
        if _COUNTS.search(hidden["until"]):
            return (line,)
        for name in re.findall(r"\w+", hidden["until"]):
            if name in named:
                return named[name], line
    return None


def _learnt(beside: Beside) -> tuple[Line, list[int]] | None:
    """How many tokens of each row are in the loss, as printed."""
    for line in beside.words:
        if found := _LEARNT.search(line.text):
            return line, [int(one) for one in re.findall(r"\d+", found["counts"])]
    return None
